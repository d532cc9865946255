#include "topology/draw/dot.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "topology/device_tree.h"
#include "topology/draw/forest.h"
#include "topology/draw/labels.h"
#include "topology/draw/marks.h"
#include "topology/draw/palette.h"
#include "topology/draw/speeds.h"

namespace lockstep::topology {
namespace {

struct Pen {
  std::string_view colour;
  double width = 1;
};

// A string of the language: what is not a letter, digit or sign of ASCII comes out as '?'.
std::string in_quotes(std::string_view text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return safe + "\"";
}

BoxKind box_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return BoxKind::gpu;
    case DeviceKind::nic:
      return BoxKind::nic;
    case DeviceKind::pcie_switch:
      return BoxKind::pcie_switch;
    case DeviceKind::nvswitch:
      return BoxKind::nvswitch;
    case DeviceKind::numa:
      return BoxKind::numa;
  }
  return BoxKind::panel;
}

class Graph {
 public:
  Graph(const Machine& machine, const PathTable& paths)
      : machine_(machine), paths_(paths), marks_(marks_of(machine)) {}

  std::string draw() {
    text_ = fmt::format(
        "graph {} {{\n  rankdir=TB;\n  node [shape=box, style=filled, fontname=\"Helvetica\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=10];\n",
        in_quotes(machine_.name.empty() ? "this host" : plain(machine_.name)));
    const Forest forest = forest_of(machine_);
    for (const Branch& tree : forest.trees) {
      if (tree.id) {
        text_ += fmt::format("  subgraph \"cluster_{}\" {{\n", to_string(*tree.id));
        branch(tree, "    ");
        text_ += "  }\n";
      } else {
        branch(tree, "  ");
      }
    }
    for (const int node : forest.nodes_of_memory) node_of({DeviceKind::numa, node}, "  ");
    for (int i = 0; i < static_cast<int>(machine_.nvswitches.size()); ++i)
      node_of({DeviceKind::nvswitch, i}, "  ");
    edges();
    return std::move(text_) + "}\n";
  }

 private:
  void branch(const Branch& branch, const std::string& front) {
    if (branch.id) node_of(*branch.id, front);
    for (const Branch& child : branch.switches) this->branch(child, front);
    for (const DeviceId id : branch.gpus) node_of(id, front);
    for (const DeviceId id : branch.nics) node_of(id, front);
  }

  void node_of(DeviceId id, std::string_view front) {
    const Paint paint = paint_of(box_of(id.kind));
    const bool alarm = marks_.contains(id);
    text_ += fmt::format("{}\"{}\" [label={}, fillcolor=\"{}\", color=\"{}\"{}];\n", front,
                         to_string(id), in_quotes(label_of(machine_, id)),
                         alarm ? kAlarmFill : paint.fill, alarm ? kAlarm : paint.line,
                         alarm ? ", penwidth=3" : "");
  }

  std::string words(const Link& link) const {
    std::string text(to_string(link.kind));
    std::optional<double> GBps = link_GBps(machine_, link);
    if (link.kind == LinkKind::pcie) {
      const PciDevice& device = pci_of(machine_, link.from);
      text = label_of(device.link);
      if (!link.GBps) GBps = uplink_GBps(device);
    } else if (link.count > 1) {
      text += fmt::format(" x{}", link.count);
    }
    const std::string speed = speed_text(GBps);
    return text.empty() || speed.empty() ? text + speed : fmt::format("{}, {}", text, speed);
  }

  void edge(DeviceId from, DeviceId to, std::string_view label, Pen pen) {
    text_ += fmt::format("  \"{}\" -- \"{}\" [label={}, color=\"{}\", penwidth={:.2g}];\n",
                         to_string(from), to_string(to), in_quotes(label), pen.colour, pen.width);
  }

  void edges() {
    for (const Link& link : machine_.links) {
      if (!has_device(machine_, link.from) || !has_device(machine_, link.to)) continue;
      const bool pcie = link.kind == LinkKind::pcie;
      if (pcie && link.from.kind == DeviceKind::numa) continue;
      const int count =
          pcie ? pci_of(machine_, link.from).link.width.value_or(link.count) : link.count;
      // From above to below, which is how Graphviz ranks.
      edge(pcie ? link.to : link.from, pcie ? link.from : link.to, words(link),
           {.colour = colour_of(link.kind), .width = line_width(link.kind, count)});
    }
    if (!machine_.links.empty()) return;
    for (const Path& path : paths_.all()) {
      const bool near = path.kind == PathKind::NVL || path.kind == PathKind::PIX;
      if (!near || !(path.from < path.to)) continue;
      edge(path.from, path.to, label_of(path),
           {.colour = colour_of(path.kind == PathKind::NVL ? LinkKind::nvlink : LinkKind::pcie),
            .width = 1});
    }
  }

  const Machine& machine_;
  const PathTable& paths_;
  std::map<DeviceId, std::vector<std::size_t>> marks_;
  std::string text_;
};

}  // namespace

std::string draw_dot(const Machine& machine, const PathTable& paths) {
  return Graph(machine, paths).draw();
}

}  // namespace lockstep::topology
