#include <fmt/format.h>

#include <map>
#include <string>

#include "engine/error.h"
#include "tests/engine/reference/reference.h"

namespace lockstep::engine::reference {

Function find(std::string_view op) {
  const std::map<std::string_view, Function> functions{
      {"conv2d", conv2d},
      {"linear", linear},
      {"relu", relu},
      {"add", add},
      {"accumulate", add},
      {"reorder", copy},
      {"flatten", flatten},
      {"max_pool", max_pool},
      {"average_pool", average_pool},
      {"batch_norm_statistics", batch_norm_statistics},
      {"batch_norm", batch_norm},
      {"batch_norm_inference", batch_norm_inference},
      {"batch_norm_parameter_gradients", batch_norm_parameter_gradients},
      {"running_statistics", running_statistics},
      {"embedding", embedding},
      {"layer_norm", layer_norm},
      {"gelu", gelu},
      {"attention", attention},
      {"dropout", dropout},
      {"softmax_cross_entropy", softmax_cross_entropy},
      {"sgd", sgd},
      {"adamw", adamw},
      {"clip_scale", clip_scale},
      {"advance_state", advance_state},
      {"add_totals", add_totals},
      {"control_word", control_word},
      {"conclude_state", conclude_state}};
  auto it = functions.find(op);
  if (it == functions.end()) throw Error(fmt::format("no reference for op \"{}\"", op));
  return it->second;
}

}  // namespace lockstep::engine::reference
