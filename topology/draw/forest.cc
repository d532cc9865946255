#include "topology/draw/forest.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "topology/device_tree.h"

namespace lockstep::topology {
namespace {

constexpr int kDeepest = 16;  // what a recording has further down is drawn without its place

class Planter {
 public:
  explicit Planter(const Machine& machine) : machine_(machine), tree_(machine) {}

  Forest plant() {
    Forest forest;
    std::map<int, Branch> by_node;
    for (const NumaNode& node : machine_.numa) by_node.try_emplace(node.id);
    for (const int node : tree_.numa()) by_node.try_emplace(node);
    for (auto& [node, branch] : by_node) {
      branch.id = DeviceId{DeviceKind::numa, node};
      grow(branch, 0);
    }
    Branch loose;
    const auto home = [&](std::optional<int> node) -> Branch& {
      const auto found = node ? by_node.find(*node) : by_node.end();
      return found == by_node.end() ? loose : found->second;
    };
    // Trees that hang off nothing first, then what is left of rings.
    for (const bool rings : {false, true}) {
      for (int i = 0; i < static_cast<int>(machine_.switches.size()); ++i) {
        const DeviceId id{DeviceKind::pcie_switch, i};
        if ((rings || !tree_.above(id)) && seen_.insert(id).second) {
          Branch branch{.id = id, .linked = false, .switches = {}, .gpus = {}, .nics = {}};
          grow(branch, 1);
          loose.switches.push_back(std::move(branch));
        }
      }
    }
    for (int i = 0; i < static_cast<int>(machine_.gpus.size()); ++i) {
      const DeviceId id{DeviceKind::gpu, i};
      if (seen_.insert(id).second)
        home(machine_.gpus[static_cast<std::size_t>(i)].numa).gpus.push_back(id);
    }
    for (int i = 0; i < static_cast<int>(machine_.nics.size()); ++i) {
      const DeviceId id{DeviceKind::nic, i};
      if (seen_.insert(id).second)
        home(machine_.nics[static_cast<std::size_t>(i)].numa).nics.push_back(id);
    }
    for (auto& [node, branch] : by_node) {
      const NumaNode* stated = find_numa(machine_, node);
      const bool bare = branch.switches.empty() && branch.gpus.empty() && branch.nics.empty();
      if (bare && stated != nullptr && stated->cpus.empty() && by_node.size() > 1) {
        forest.nodes_of_memory.push_back(node);
      } else {
        forest.trees.push_back(std::move(branch));
      }
    }
    if (!loose.switches.empty() || !loose.gpus.empty() || !loose.nics.empty())
      forest.trees.push_back(std::move(loose));
    return forest;
  }

 private:
  void grow(Branch& branch, int depth) {
    if (depth >= kDeepest) return;
    for (const DeviceId id : tree_.below(*branch.id)) {
      if (!seen_.insert(id).second) continue;
      if (id.kind == DeviceKind::pcie_switch) {
        Branch child{.id = id, .linked = true, .switches = {}, .gpus = {}, .nics = {}};
        grow(child, depth + 1);
        branch.switches.push_back(std::move(child));
      } else if (id.kind == DeviceKind::gpu) {
        branch.gpus.push_back(id);
      } else if (id.kind == DeviceKind::nic) {
        branch.nics.push_back(id);
      }
    }
  }

  const Machine& machine_;
  DeviceTree tree_;
  std::set<DeviceId> seen_;
};

}  // namespace

Forest forest_of(const Machine& machine) {
  return Planter(machine).plant();
}

}  // namespace lockstep::topology
