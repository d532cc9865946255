#include "runtime/parallel/trained_parameter.h"

#include <algorithm>
#include <map>

namespace lockstep::runtime::parallel {
namespace {

using engine::Graph;
using engine::Node;
using engine::OpTable;
using engine::Phase;
using engine::ValueId;

// A core of a recent CPU, roughly; only ratios matter, and they need not be right to be the same
// everywhere.
constexpr double kFlopsPerSecond = 1e11;
constexpr double kBytesPerSecond = 1e10;

}  // namespace

bool is_update(const Node& node) {
  return node.op == "sgd" || node.op == "adamw";
}

std::vector<TrainedParameter> trained_parameters(const Graph& graph) {
  std::vector<TrainedParameter> all;
  for (const Node& node : graph.nodes()) {
    if (!is_update(node)) continue;
    const engine::Value& weight = graph.value(node.inputs[0]);
    all.push_back({weight.name, node, -1, engine::bytes_of(weight)});
  }
  std::map<ValueId, int> last_touch;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node({i});
    if (node.phase > Phase::backward) break;
    for (ValueId id : node.inputs) {
      if (id.valid()) last_touch[graph.storage_of(id)] = i;
    }
    for (ValueId id : node.outputs) last_touch[graph.storage_of(id)] = i;
  }
  for (TrainedParameter& parameter : all) {
    for (std::size_t operand : {0u, 1u}) {
      auto it = last_touch.find(graph.storage_of(parameter.update.inputs[operand]));
      if (it != last_touch.end()) parameter.ready = std::max(parameter.ready, it->second);
    }
  }
  std::stable_sort(
      all.begin(), all.end(),
      [](const TrainedParameter& a, const TrainedParameter& b) { return a.ready < b.ready; });
  return all;
}

std::vector<double> finish_times(const Graph& graph, const OpTable& ops) {
  std::vector<double> times;
  double now = 0;
  for (const Node& node : graph.nodes()) {
    const engine::Cost cost = ops.find(node.op).cost(graph, node);
    now += std::max(cost.flops / kFlopsPerSecond, cost.bytes / kBytesPerSecond);
    times.push_back(now);
  }
  return times;
}

}  // namespace lockstep::runtime::parallel
