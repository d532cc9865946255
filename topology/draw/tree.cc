#include "topology/draw/tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "topology/device_tree.h"
#include "topology/draw/labels.h"

namespace lockstep::topology {
namespace {

constexpr int kDeepest = 32;

class Tree {
 public:
  explicit Tree(const Machine& machine) : machine_(machine), tree_(machine) {}

  std::string draw() {
    std::vector<DeviceId> roots;
    for (const NumaNode& node : machine_.numa) roots.push_back({DeviceKind::numa, node.id});
    for (const int node : tree_.numa()) {
      if (find_numa(machine_, node) == nullptr) roots.push_back({DeviceKind::numa, node});
    }
    for (const DeviceId root : roots) {
      line("", label_of(machine_, root));
      children_of(root, "", 0);
    }
    rest(DeviceKind::pcie_switch, machine_.switches.size());
    rest(DeviceKind::gpu, machine_.gpus.size());
    rest(DeviceKind::nic, machine_.nics.size());
    nvlinks();
    return std::move(text_);
  }

 private:
  void line(std::string_view front, std::string_view label) {
    text_ += fmt::format("{}{}\n", front, label);
  }

  void children_of(DeviceId parent, const std::string& front, int depth) {
    if (depth >= kDeepest) return;
    std::vector<DeviceId> children;
    for (const DeviceId child : tree_.below(parent)) {
      if (drawn_.insert(child).second) children.push_back(child);
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool last = i + 1 == children.size();
      line(front + (last ? "`-- " : "|-- "), label_of(machine_, children[i]));
      children_of(children[i], front + (last ? "    " : "|   "), depth + 1);
    }
  }

  // What the tree did not reach: first what hangs off nothing, then what is left of rings.
  void rest(DeviceKind kind, std::size_t count) {
    for (const bool rings : {false, true}) {
      for (int i = 0; i < static_cast<int>(count); ++i) {
        const DeviceId id{kind, i};
        if ((!rings && tree_.above(id)) || !drawn_.insert(id).second) continue;
        line("", label_of(machine_, id));
        children_of(id, "", 0);
      }
    }
  }

  // GPUs with the same NVLinks share a line.
  void nvlinks() {
    std::map<DeviceId, std::map<std::string, int>> of_gpu;
    const auto count = [&of_gpu](DeviceId gpu, const Link& link, DeviceId other) {
      if (gpu.kind != DeviceKind::gpu || gpu == other) return;
      const std::string what = link.kind == LinkKind::c2c    ? "C2C"
                               : link.kind == LinkKind::xgmi ? "xGMI"
                                                             : "NVLink";
      const std::string end = other.kind == DeviceKind::nvswitch ? "NVSwitches" : to_string(other);
      of_gpu[gpu][fmt::format("{} to {}", what, end)] += link.count;
    };
    for (const Link& link : machine_.links) {
      if (link.kind == LinkKind::pcie || link.kind == LinkKind::numa) continue;
      count(link.from, link, link.to);
      count(link.to, link, link.from);
    }
    std::vector<std::pair<std::string, std::vector<std::string>>> lines;
    for (const auto& [gpu, ends] : of_gpu) {
      std::string links;
      for (const auto& [end, n] : ends)
        links += fmt::format("{}{} x {}", links.empty() ? "" : ", ", n, end);
      const auto same =
          std::ranges::find(lines, links, &std::pair<std::string, std::vector<std::string>>::first);
      if (same != lines.end()) {
        same->second.push_back(to_string(gpu));
      } else {
        lines.push_back({links, {to_string(gpu)}});
      }
    }
    for (const auto& [links, gpus] : lines) {
      const std::string who = gpus.size() > 2 ? fmt::format("{} to {} ({}) each", gpus.front(),
                                                            gpus.back(), gpus.size())
                                              : fmt::format("{}", fmt::join(gpus, ", "));
      line("", fmt::format("{}: {}", who, links));
    }
  }

  const Machine& machine_;
  DeviceTree tree_;
  std::set<DeviceId> drawn_;
  std::string text_;
};

}  // namespace

std::string draw_tree(const Machine& machine) {
  return Tree(machine).draw();
}

}  // namespace lockstep::topology
