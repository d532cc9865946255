#include "topology/readers/ibnetdiscover_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

// More than an InfiniBand subnet can address (48 K).
constexpr std::size_t kMaxNodes = 1 << 16;

class GraphReader {
 public:
  GraphReader(const Recording& recording, Notes& notes) : recording_(recording), notes_(notes) {}

  FabricGraph read() {
    for (Lines lines(recording_.text); lines.next();) {
      const std::string_view text = trimmed(lines.text());
      if (begins_node(text)) {
        add_node(text, lines.number());
      } else if (begins_port(text) && !graph_.nodes.empty()) {
        add_port(text, lines.number());
      }
    }
    for (FabricNodeRecord& node : graph_.nodes) sort_ports(node);
    return std::move(graph_);
  }

 private:
  void add_node(std::string_view text, int line) {
    std::string fault;
    const auto says = parse_node_line(text, fault);
    if (!says) return damaged(text, line, fault);
    if (graph_.nodes.size() == kMaxNodes) {
      throw ReadError(recording_.name, line,
                      fmt::format("more than {} nodes, which no InfiniBand fabric has; give one "
                                  "subnet's ibnetdiscover output",
                                  kMaxNodes));
    }
    const auto [known, is_new] = graph_.by_id.emplace(says->id, graph_.nodes.size());
    if (!is_new) {
      throw ReadError(recording_.name, line,
                      fmt::format("node \"{}\" stands a second time, first in line {}; give one "
                                  "run's output",
                                  says->id, graph_.nodes[known->second].line));
    }
    graph_.nodes.push_back({.says = *says, .line = line, .ports = {}});
  }

  void add_port(std::string_view text, int line) {
    std::string fault;
    const auto says = parse_port_line(text, fault);
    if (!says) return damaged(text, line, fault);
    FabricNodeRecord& node = graph_.nodes.back();
    if (says->port > node.says.ports) {
      throw ReadError(recording_.name, line,
                      fmt::format("port {} of node \"{}\", which has {} ports", says->port,
                                  node.says.id, node.says.ports));
    }
    // A port too many; which of them stands twice shows when they are sorted.
    if (node.ports.size() > static_cast<std::size_t>(node.says.ports)) sort_ports(node);
    node.ports.push_back({.says = *says, .line = line});
  }

  void sort_ports(FabricNodeRecord& node) const {
    const auto number = [](const FabricPortRecord& port) { return port.says.port; };
    std::ranges::stable_sort(node.ports, {}, number);
    const auto twice = std::ranges::adjacent_find(node.ports, {}, number);
    if (twice == node.ports.end()) return;
    throw ReadError(recording_.name, std::next(twice)->line,
                    fmt::format("port {} of node \"{}\" stands a second time, first in line {}",
                                twice->says.port, node.says.id, twice->line));
  }

  void damaged(std::string_view text, int line, std::string_view fault) {
    const auto begin = static_cast<std::size_t>(text.data() - recording_.text.data());
    const bool breaks_off = recording_.text.find('\n', begin) == std::string::npos;
    if (!breaks_off) {
      throw ReadError(recording_.name, line,
                      fmt::format("{}, found `{}`", fault, text.substr(0, 80)));
    }
    notes_.add(
        {.severity = Severity::warning,
         .code = "recording-cut",
         .message = fmt::format("the file breaks off: {}, found `{}`", fault, text.substr(0, 80)),
         .where = "",
         .remedy = "run ibnetdiscover again and keep all of its output"},
        line);
  }

  const Recording& recording_;
  Notes& notes_;
  FabricGraph graph_;
};

}  // namespace

FabricGraph read_graph(const Recording& recording, Notes& notes) {
  return GraphReader(recording, notes).read();
}

}  // namespace lockstep::topology
