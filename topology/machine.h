// What one host looks like: devices, the links between them, what its system allows, and what is
// wrong with it.
//
// A Machine comes from the live host (topology/probe) or from recordings (topology/readers), each
// of which knows a part; topology/merge.h makes one of several. Devices are in the recording's own
// order; ids are positions in the lists. Thread rule: a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/device_id.h"
#include "topology/devices.h"
#include "topology/finding.h"
#include "topology/system.h"

namespace lockstep::topology {

enum class LinkKind { nvlink, xgmi, c2c, pcie, numa };

// A link, stated once for both directions. PCIe: `from` is the device, `to` what it hangs off
// (switch or NUMA node).
struct Link {
  DeviceId from, to;
  LinkKind kind = LinkKind::pcie;
  int count = 1;  // NVLinks: how many
  std::optional<double>
      GBps;  // all of them together, one direction; empty: follows from kind, count and devices

  bool operator==(const Link&) const = default;
};

// What a recording says itself about a pair, as `nvidia-smi topo -m` does: "NV18", "NODE", "PXB".
struct StatedPath {
  DeviceId from, to;
  std::string label;

  bool operator==(const StatedPath&) const = default;
};

// One cell of `nvidia-smi topo -p2p r|w|n|a|p`: "OK", "CNS", "GNS", "TNS", "NS", "U".
struct PeerStatus {
  DeviceId from, to;
  char capability = 'r';
  std::string status;

  bool operator==(const PeerStatus&) const = default;
};

struct Machine {
  std::string name;  // host; empty where a recording does not say
  std::vector<std::string>
      sources;  // what was read: "live", "hwloc-xml", "nccl-xml", "nvidia-smi-topo", ...
  Cpu cpu;
  std::vector<NumaNode> numa;
  std::vector<Gpu> gpus;
  std::vector<Switch> switches;  // PCIe
  std::vector<Switch> nvswitches;
  std::vector<Nic> nics;
  std::vector<Interface> interfaces;
  std::vector<Link> links;  // empty: a recording of pairs only
  std::vector<StatedPath> stated;
  std::vector<PeerStatus> peers;
  System system;
  std::vector<Finding> findings;  // of reading; topology/findings adds those of judging

  bool operator==(const Machine&) const = default;
};

// The node of that number, or null. The pointer lives as long as `machine` and its list.
[[nodiscard]] const NumaNode* find_numa(const Machine& machine, int id);

// "nvlink", "xgmi", "c2c", "pcie", "numa"; "infiniband", "roce", ...; "active", "down", "unknown".
[[nodiscard]] std::string_view to_string(LinkKind kind);
[[nodiscard]] std::string_view to_string(NicKind kind);
[[nodiscard]] std::string_view to_string(NicState state);

}  // namespace lockstep::topology
