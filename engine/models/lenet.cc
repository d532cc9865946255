#include "engine/models/models.h"

namespace lockstep::engine::models {

ModelFunction lenet(std::int64_t classes) {
  return [classes](ModelBuilder& b, ValueId image) {
    ValueId x = b.convolution("c1", image, {.channels = 6, .kernel = 5, .pad = 2});
    x = b.max_pool("pool1", b.relu("relu1", x), {.size = 2, .stride = 2});
    x = b.convolution("c2", x, {.channels = 16, .kernel = 5});
    x = b.flatten("flatten", b.max_pool("pool2", b.relu("relu2", x), {.size = 2, .stride = 2}));
    x = b.relu("relu3", b.linear("f1", x, 120));
    x = b.relu("relu4", b.linear("f2", x, 84));
    return b.linear("f3", x, classes);
  };
}

}  // namespace lockstep::engine::models
