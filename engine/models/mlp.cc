#include <string>

#include "engine/models/models.h"

namespace lockstep::engine::models {

ModelFunction mlp(std::vector<std::int64_t> hidden, std::int64_t classes) {
  return [hidden = std::move(hidden), classes](ModelBuilder& b, ValueId image) {
    ValueId x = b.flatten("flatten", image);
    std::size_t layer = 1;
    for (std::int64_t features : hidden) {
      const std::string number = std::to_string(layer++);
      x = b.relu("relu" + number, b.linear("fc" + number, x, features));
    }
    return b.linear("fc" + std::to_string(layer), x, classes);
  };
}

}  // namespace lockstep::engine::models
