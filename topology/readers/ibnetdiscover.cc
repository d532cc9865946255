#include "topology/readers/ibnetdiscover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "topology/adapter_name.h"
#include "topology/fabric_shape.h"
#include "topology/readers/ibnetdiscover_graph.h"
#include "topology/readers/lines.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {
namespace {

std::string guid_of(std::string_view id) {
  const bool prefixed =
      id.size() > 2 && id[1] == '-' &&
      std::string_view("SHR").find(id[0]) != std::string_view::npos &&
      std::ranges::all_of(id.substr(2), [](unsigned char c) { return std::isxdigit(c) != 0; });
  return std::string(prefixed ? id.substr(2) : id);
}

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

bool says_back(const FabricNodeRecord& peer, const FabricNodeRecord& node,
               const FabricPortLine& link) {
  const auto back = std::ranges::lower_bound(
      peer.ports, link.peer_port, {}, [](const FabricPortRecord& port) { return port.says.port; });
  return back != peer.ports.end() && back->says.port == link.peer_port &&
         back->says.peer == node.says.id && back->says.peer_port == link.port;
}

void check_links(const FabricGraph& graph, Notes& notes) {
  Examples one_sided, strangers, alone;
  for (const FabricNodeRecord& node : graph.nodes) {
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

std::vector<FabricPort> ports_of(const FabricNodeRecord& node) {
  std::vector<FabricPort> ports;
  for (const auto& [link, line] : node.ports) {
    ports.push_back({.number = link.port,
                     .peer = guid_of(link.peer),
                     .peer_port = link.peer_port,
                     .rate_Gbps = link.rate_Gbps});
  }
  return ports;
}

Fabric fabric_of(const FabricGraph& graph) {
  Fabric fabric;
  for (const FabricNodeRecord& node : graph.nodes) {
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
  const FabricGraph graph = read_graph(recording, notes);
  const bool linked = std::ranges::any_of(
      graph.nodes, [](const FabricNodeRecord& node) { return !node.ports.empty(); });
  if (graph.nodes.empty()) {
    throw ReadError(recording.name, 0,
                    "ibnetdiscover output without a node; run it as root on a host of the fabric");
  }
  if (!linked) {
    const FabricNodeRecord& first = graph.nodes.front();
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
