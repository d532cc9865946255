#include <algorithm>
#include <map>
#include <optional>

#include "engine/passes.h"

namespace lockstep::engine {
namespace {

// The graph's uses: who reads a value, and whether the caller keeps it.
class Uses {
 public:
  explicit Uses(const Graph& graph) {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      for (ValueId id : graph.nodes()[i].inputs) {
        if (id.valid()) readers_[id].push_back(i);
      }
    }
    for (const auto& [name, id] : graph.results()) readers_[id].push_back(SIZE_MAX);
  }

  // Whether all that read `id`, except for node `node`, come after it.
  [[nodiscard]] bool first_reader(ValueId id, std::size_t node) const {
    const std::vector<std::size_t>& readers = readers_.at(id);
    return std::all_of(readers.begin(), readers.end(),
                       [node](std::size_t reader) { return reader >= node; });
  }

  // The one node that reads `id`, if there is exactly one reader.
  [[nodiscard]] std::optional<std::size_t> only_reader(ValueId id) const {
    auto it = readers_.find(id);
    if (it == readers_.end() || it->second.size() != 1 || it->second[0] == SIZE_MAX) return {};
    return it->second[0];
  }

 private:
  std::map<ValueId, std::vector<std::size_t>> readers_;
};

// Where the optional residual stands among the inputs of a batch norm.
std::optional<std::size_t> residual_slot(const Node& node) {
  if (node.op == "batch_norm") return 4;
  if (node.op == "batch_norm_inference") return 5;
  return {};
}

// Replaces nodes in place; a merged-away node is marked dead and dropped at the end.
class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : nodes_(graph.nodes()), dead_(nodes_.size(), false), uses_(graph) {}

  std::vector<Node> run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!dead_[i]) fuse_from(i);
    }
    std::vector<Node> kept;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!dead_[i]) kept.push_back(std::move(nodes_[i]));
    }
    return kept;
  }

 private:
  void fuse_from(std::size_t i) {
    Node& node = nodes_[i];
    if (node.op == "linear") {
      absorb_relu(i);
    } else if (node.op == "relu") {
      auto reader = uses_.only_reader(node.outputs[0]);
      if (reader && nodes_[*reader].op == "max_pool") {
        // relu and max commute, so relu is done on the few that are left.
        nodes_[*reader].attributes.set("relu", std::int64_t{1});
        nodes_[*reader].inputs[0] = node.inputs[0];
        dead_[i] = true;
      }
    } else if (auto slot = residual_slot(node)) {
      absorb_add(i, *slot);
      absorb_relu(i);
    } else if (node.op == "layer_norm") {
      absorb_residual(i);
    }
  }

  // norm(x + r) becomes one node at the norm's place, which gives the sum as well: later nodes go
  // on reading it. Nodes that read it earlier need the addition where it is; and a block of the
  // model ends in its own sum, so that `recompute` keeps one value between blocks.
  void absorb_residual(std::size_t i) {
    Node& norm = nodes_[i];
    const ValueId sum = norm.inputs[0];
    if (norm.inputs[1].valid() || !uses_.first_reader(sum, i)) return;
    for (std::size_t p = 0; p < i; ++p) {
      if (dead_[p] || nodes_[p].op != "add" || nodes_[p].outputs[0] != sum) continue;
      if (nodes_[p].block != norm.block) return;
      norm.inputs[0] = nodes_[p].inputs[0];
      norm.inputs[1] = nodes_[p].inputs[1];
      norm.outputs.push_back(sum);
      dead_[p] = true;
    }
  }

  void absorb_relu(std::size_t i) {
    auto reader = uses_.only_reader(nodes_[i].outputs[0]);
    if (!reader || nodes_[*reader].op != "relu") return;
    nodes_[i].attributes.set("relu", std::int64_t{1});
    nodes_[i].outputs[0] = nodes_[*reader].outputs[0];
    dead_[*reader] = true;
  }

  // y = norm(x) + r becomes one node at the place of the addition, where r is there.
  void absorb_add(std::size_t& i, std::size_t slot) {
    auto reader = uses_.only_reader(nodes_[i].outputs[0]);
    if (!reader || nodes_[*reader].op != "add" || nodes_[i].inputs[slot].valid()) return;
    const Node& add = nodes_[*reader];
    const ValueId other = add.inputs[0] == nodes_[i].outputs[0] ? add.inputs[1] : add.inputs[0];
    if (other == nodes_[i].outputs[0]) return;  // norm(x) + norm(x)
    Node merged = nodes_[i];
    merged.inputs[slot] = other;
    merged.outputs[0] = add.outputs[0];
    nodes_[*reader] = std::move(merged);
    dead_[i] = true;
    i = *reader;
  }

  std::vector<Node> nodes_;
  std::vector<bool> dead_;
  Uses uses_;
};

}  // namespace

Graph fuse(Graph graph, const OpTable&) {
  graph.set_nodes(Fuser(graph).run());
  return graph;
}

}  // namespace lockstep::engine
