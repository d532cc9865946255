// What the communicate pass knows of a parameter: how it is updated, and when nothing touches it
// any more.
#pragma once

#include <string>
#include <vector>

#include "engine/graph.h"
#include "engine/op.h"

namespace lockstep::runtime::parallel {

// Whether a node updates one parameter; such nodes are merged by bucket.
[[nodiscard]] bool is_update(const engine::Node& node);

struct TrainedParameter {
  std::string name;
  engine::Node update;    // its optimizer node
  int ready = -1;         // place in the list after which nothing touches weight or gradient
  std::size_t bytes = 0;  // of the gradient
};

// The parameters of a scheduled graph, in the order in which they are ready. Empty for a program
// that updates none.
[[nodiscard]] std::vector<TrainedParameter> trained_parameters(const engine::Graph& graph);

// When each node is done, in seconds, by the static cost model: the larger of its arithmetic and
// its memory traffic.
[[nodiscard]] std::vector<double> finish_times(const engine::Graph& graph,
                                               const engine::OpTable& ops);

}  // namespace lockstep::runtime::parallel
