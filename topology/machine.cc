#include "topology/machine.h"

#include <algorithm>

namespace lockstep::topology {

const NumaNode* find_numa(const Machine& machine, int id) {
  const auto found = std::ranges::find(machine.numa, id, &NumaNode::id);
  return found == machine.numa.end() ? nullptr : &*found;
}

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "nvlink";
    case LinkKind::xgmi:
      return "xgmi";
    case LinkKind::c2c:
      return "c2c";
    case LinkKind::pcie:
      return "pcie";
    case LinkKind::numa:
      return "numa";
  }
  return {};
}

std::string_view to_string(NicKind kind) {
  switch (kind) {
    case NicKind::unknown:
      return "unknown";
    case NicKind::infiniband:
      return "infiniband";
    case NicKind::roce:
      return "roce";
    case NicKind::ethernet:
      return "ethernet";
    case NicKind::efa:
      return "efa";
    case NicKind::other:
      return "other";
  }
  return {};
}

std::string_view to_string(NicState state) {
  switch (state) {
    case NicState::unknown:
      return "unknown";
    case NicState::active:
      return "active";
    case NicState::down:
      return "down";
  }
  return {};
}

}  // namespace lockstep::topology
