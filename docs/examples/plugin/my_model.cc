// A small convolutional network as a plug-in: a stem, then blocks that squeeze their input to a few
// channels, look at 3x3 neighbourhoods of those and add what they saw to the input.
// Its own keys in the job's "model": channels (32), squeeze (8), blocks (2).
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/plugin.h"

namespace {

using lockstep::engine::Initializer;
using lockstep::engine::ModelBuilder;
using lockstep::engine::ModelFunction;
using lockstep::engine::ModelRequest;
using lockstep::engine::ValueId;

struct Options {
  std::int64_t channels = 32;  // of the blocks' input and output
  std::int64_t squeeze = 8;    // channels inside a block
  std::int64_t blocks = 2;
};

// What is thrown is shown to the user, after the plug-in's name.
Options read_options(const nlohmann::json& keys) {
  const std::set<std::string> known = {"channels", "squeeze", "blocks"};
  for (const auto& [key, value] : keys.items()) {
    if (!known.contains(key)) {
      throw std::invalid_argument("model." + key +
                                  ": unknown; known are channels, squeeze, blocks");
    }
    if (!value.is_number_integer() || value < 1 || value > 1024) {
      throw std::invalid_argument("model." + key + ": expected an integer from 1 to 1024, found " +
                                  value.dump());
    }
  }
  const Options defaults;
  return {.channels = keys.value("channels", defaults.channels),
          .squeeze = keys.value("squeeze", defaults.squeeze),
          .blocks = keys.value("blocks", defaults.blocks)};
}

// Layers are named as their parameters are to be: "block1.expand.weight".
ValueId convolution(ModelBuilder& b, const std::string& name, ValueId x,
                    ModelBuilder::Convolution options) {
  options.bias = false;  // the batch norm has one
  options.initial = Initializer::Kind::normal;
  return b.batch_norm(name + ".norm", b.convolution(name, x, options));
}

ValueId block(ModelBuilder& b, const std::string& name, ValueId input, const Options& options) {
  ValueId x = convolution(b, name + ".squeeze", input, {.channels = options.squeeze});
  x = b.relu(name + ".squeeze.relu", x);
  x = convolution(b, name + ".expand", x, {.channels = options.channels, .kernel = 3, .pad = 1});
  return b.relu(name + ".relu", b.add(name + ".add", x, input));
}

ModelFunction my_model(const ModelRequest& request) {
  if (request.sample.is_tokens()) throw std::invalid_argument("takes images; leave out context");
  const Options options = read_options(nlohmann::json::parse(request.keys));
  return [options, classes = request.classes](ModelBuilder& b, ValueId image) {
    ValueId x =
        convolution(b, "stem", image, {.channels = options.channels, .kernel = 3, .pad = 1});
    x = b.max_pool("stem.pool", b.relu("stem.relu", x), {.size = 2, .stride = 2});
    for (std::int64_t i = 0; i < options.blocks; ++i) {
      b.begin_block();  // so that "recompute": "block" can forget what lies inside
      x = block(b, "block" + std::to_string(i), x, options);
    }
    b.end_blocks();
    return b.linear("head", b.average_pool("pool", x), classes);
  };
}

}  // namespace

LOCKSTEP_MODEL_PLUGIN(my_model)
