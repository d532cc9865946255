#include "topology/readers/ibnetdiscover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topology/adapter_name.h"
#include "topology/fabric_shape.h"
#include "topology/readers/ibnetdiscover_line.h"
#include "topology/readers/lines.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {
namespace {

// More than an InfiniBand subnet can address (48 K).
constexpr std::size_t kMaxNodes = 1 << 16;

struct Port {
  FabricPortLine says;
  int line = 0;
};

struct Node {
  FabricNodeLine says;
  int line = 0;
  std::vector<Port> ports;  // in order of their numbers
};

struct Graph {
  std::vector<Node> nodes;
  std::unordered_map<std::string_view, std::size_t> by_id;
};

std::string guid_of(std::string_view id) {
  const bool prefixed =
      id.size() > 2 && id[1] == '-' &&
      std::string_view("SHR").find(id[0]) != std::string_view::npos &&
      std::ranges::all_of(id.substr(2), [](unsigned char c) { return std::isxdigit(c) != 0; });
  return std::string(prefixed ? id.substr(2) : id);
}

class GraphReader {
 public:
  GraphReader(const Recording& recording, Notes& notes) : recording_(recording), notes_(notes) {}

  Graph read() {
    for (Lines lines(recording_.text); lines.next();) {
      const std::string_view text = trimmed(lines.text());
      if (begins_node(text)) {
        add_node(text, lines.number());
      } else if (begins_port(text) && !graph_.nodes.empty()) {
        add_port(text, lines.number());
      }
    }
    for (Node& node : graph_.nodes) sort_ports(node);
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
    Node& node = graph_.nodes.back();
    if (says->port > node.says.ports) {
      throw ReadError(recording_.name, line,
                      fmt::format("port {} of node \"{}\", which has {} ports", says->port,
                                  node.says.id, node.says.ports));
    }
    // A port too many; which of them stands twice shows when they are sorted.
    if (node.ports.size() > static_cast<std::size_t>(node.says.ports)) sort_ports(node);
    node.ports.push_back({.says = *says, .line = line});
  }

  void sort_ports(Node& node) const {
    const auto number = [](const Port& port) { return port.says.port; };
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
  Graph graph_;
};

// Up to three examples of a thing that is wrong in many places; one finding for all of them.
class Examples {
 public:
  void add(std::string example, int line) {
    if (count_++ == 0) line_ = line;
    if (count_ <= 3) text_ += fmt::format("{}{}", text_.empty() ? "" : "; ", example);
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] std::string text() const {
    return count_ <= 3 ? text_ : fmt::format("{}; and {} more", text_, count_ - 3);
  }

 private:
  int count_ = 0;
  int line_ = 0;
  std::string text_;
};

bool says_back(const Node& peer, const Node& node, const FabricPortLine& link) {
  const auto back = std::ranges::lower_bound(peer.ports, link.peer_port, {},
                                             [](const Port& port) { return port.says.port; });
  return back != peer.ports.end() && back->says.port == link.peer_port &&
         back->says.peer == node.says.id && back->says.peer_port == link.port;
}

void check_links(const Graph& graph, Notes& notes) {
  Examples one_sided, strangers, alone;
  for (const Node& node : graph.nodes) {
    if (node.ports.empty()) alone.add(fmt::format("\"{}\"", node.says.id), node.line);
    for (const auto& [link, line] : node.ports) {
      const auto peer = graph.by_id.find(link.peer);
      std::string text = fmt::format("\"{}\"[{}] to \"{}\"[{}]", node.says.id, link.port, link.peer,
                                     link.peer_port);
      if (peer == graph.by_id.end()) {
        strangers.add(std::move(text), line);
      } else if (!says_back(graph.nodes[peer->second], node, link)) {
        one_sided.add(std::move(text), line);
      }
    }
  }
  const std::string again = "run ibnetdiscover again and keep all of its output";
  if (strangers.count() > 0) {
    notes.add({.severity = Severity::warning,
               .code = "unknown-fabric-node",
               .message = fmt::format("{} links lead to nodes that are not in the file: {}",
                                      strangers.count(), strangers.text()),
               .where = "",
               .remedy = again},
              strangers.line());
  }
  if (one_sided.count() > 0) {
    notes.add({.severity = Severity::warning,
               .code = "one-sided-link",
               .message = fmt::format("{} links are stated by one end, but not by the other: {}",
                                      one_sided.count(), one_sided.text()),
               .where = "",
               .remedy = again},
              one_sided.line());
  }
  if (alone.count() > 0) {
    notes.add(
        {.severity = Severity::warning,
         .code = "fabric-node-without-links",
         .message = fmt::format("{} nodes have no line of a port: {}", alone.count(), alone.text()),
         .where = "",
         .remedy = again},
        alone.line());
  }
}

std::vector<FabricPort> ports_of(const Node& node) {
  std::vector<FabricPort> ports;
  for (const auto& [link, line] : node.ports) {
    ports.push_back({.number = link.port,
                     .peer = guid_of(link.peer),
                     .peer_port = link.peer_port,
                     .rate_Gbps = link.rate_Gbps});
  }
  return ports;
}

Fabric fabric_of(const Graph& graph) {
  Fabric fabric;
  for (const Node& node : graph.nodes) {
    const FabricNodeLine& says = node.says;
    const std::string name(says.description.empty() ? says.id : says.description);
    if (says.kind == FabricNodeKind::fabric_switch) {
      fabric.switches.push_back(
          {.guid = guid_of(says.id), .name = name, .tier = 0, .ports = ports_of(node)});
      continue;
    }
    AdapterName parts = parse_adapter_name(says.description);
    const AdapterKind kind = says.kind == FabricNodeKind::router     ? AdapterKind::router
                             : is_aggregation_node(says.description) ? AdapterKind::aggregation
                                                                     : AdapterKind::host;
    fabric.adapters.push_back({.guid = guid_of(says.id),
                               .name = name,
                               .host = std::move(parts.host),
                               .device = std::move(parts.device),
                               .kind = kind,
                               .ports = ports_of(node)});
  }
  FabricShape shape = shape_of(fabric);
  for (std::size_t i = 0; i < shape.tier.size(); ++i) fabric.switches[i].tier = shape.tier[i];
  fabric.tiers = shape.tiers;
  fabric.rails = std::move(shape.rails);
  return fabric;
}

}  // namespace

bool is_ibnetdiscover(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    const std::string_view line = trimmed(lines.text());
    if (begins_node(line) || line.starts_with("# Topology file: generated on")) return true;
  }
  return false;
}

Reading read_ibnetdiscover(const Recording& recording) {
  Notes notes(recording.name);
  const Graph graph = GraphReader(recording, notes).read();
  const bool linked =
      std::ranges::any_of(graph.nodes, [](const Node& node) { return !node.ports.empty(); });
  if (graph.nodes.empty()) {
    throw ReadError(recording.name, 0,
                    "ibnetdiscover output without a node; run it as root on a host of the fabric");
  }
  if (!linked) {
    const Node& first = graph.nodes.front();
    throw ReadError(recording.name, first.line,
                    fmt::format("expected the lines of the ports of \"{}\", found none in the "
                                "whole file; run ibnetdiscover again and keep all of its output",
                                first.says.id));
  }
  check_links(graph, notes);
  Reading reading;
  reading.machine.sources = {"ibnetdiscover"};
  reading.fabric = fabric_of(graph);
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
