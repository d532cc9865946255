#include <algorithm>
#include <map>
#include <set>

#include "engine/passes.h"

namespace lockstep::engine {
namespace {

// What a block's backward nodes may read as the forward pass left it.
class Kept {
 public:
  Kept(const Graph& graph, const OpTable& ops) {
    std::map<ValueId, int> block_of;
    for (const Node& node : graph.nodes()) {
      if (node.phase != Phase::forward) continue;
      for (ValueId id : node.outputs) block_of[id] = node.block;
      // Statistics and the like: small, and a sum over ranks must not be made twice.
      const auto specs = ops.find(node.op).infer(graph, node);
      const bool small = std::all_of(specs.begin(), specs.end(), [](const OutputSpec& spec) {
        return spec.exact || spec.dtype == DType::f64;
      });
      if (small) kept_.insert(node.outputs.begin(), node.outputs.end());
      for (ValueId id : node.inputs) {
        auto producer = block_of.find(id);
        if (producer == block_of.end() || producer->second != node.block) kept_.insert(id);
      }
    }
    for (const auto& [name, id] : graph.results()) kept_.insert(id);
  }
  [[nodiscard]] bool contains(ValueId id) const { return kept_.contains(id); }

 private:
  std::set<ValueId> kept_;
};

class Repeater {
 public:
  Repeater(Graph& graph, const OpTable& ops)
      : graph_(graph), nodes_(graph.nodes()), kept_(graph, ops) {}

  void run() {
    std::vector<Node> result;
    std::set<int> repeated;
    for (const Node& node : nodes_) {
      if (node.phase != Phase::backward || node.block < 0) {
        result.push_back(node);
        continue;
      }
      if (repeated.insert(node.block).second) repeat(node.block, result);
      result.push_back(with_repeated(node));
    }
    graph_.set_nodes(std::move(result));
  }

 private:
  // Appends the forward nodes of `block` whose values its backward nodes need and nobody kept.
  void repeat(int block, std::vector<Node>& result) {
    std::set<ValueId> needed;
    for (const Node& node : nodes_) {
      if (node.phase == Phase::backward && node.block == block) add_inputs(node, needed);
    }
    std::vector<const Node*> again;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      if (node->phase != Phase::forward || node->block != block) continue;
      const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                    [&](ValueId id) { return needed.contains(id); });
      if (!used) continue;
      add_inputs(*node, needed);
      again.push_back(&*node);
    }
    std::reverse(again.begin(), again.end());
    for (const Node* node : again) {
      Node copy = with_repeated(*node);
      copy.name += ".again";
      copy.phase = Phase::backward;
      copy.repeated = true;
      for (ValueId& id : copy.outputs) {
        Value value = graph_.value(id);
        value.name += ".again";
        value.producer = {};
        const ValueId mine = graph_.add_value(std::move(value));
        repeated_[id] = mine;
        id = mine;
      }
      result.push_back(std::move(copy));
    }
  }

  void add_inputs(const Node& node, std::set<ValueId>& needed) const {
    for (ValueId id : node.inputs) {
      if (id.valid() && !kept_.contains(id)) needed.insert(id);
    }
  }

  [[nodiscard]] Node with_repeated(Node node) const {
    for (ValueId& id : node.inputs) {
      auto mine = repeated_.find(id);
      if (mine != repeated_.end() && !kept_.contains(id)) id = mine->second;
    }
    return node;
  }

  Graph& graph_;
  const std::vector<Node> nodes_;
  const Kept kept_;
  std::map<ValueId, ValueId> repeated_;
};

}  // namespace

Graph recompute(Graph graph, const OpTable& ops, Recompute policy) {
  if (policy == Recompute::block) Repeater(graph, ops).run();
  return graph;
}

}  // namespace lockstep::engine
