// How every two GPUs and NICs of a machine reach each other: NCCL's kinds, and a bandwidth.
//
// Thread rule: pure functions of values. Source: NCCL 2.28 (graph/paths.cc, topo.cc), in its own
// rules; the kinds' order is NCCL's, best first. `unknown` is ours: a recording that does not say
// (a virtual machine whose PCI tree is hidden).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

enum class PathKind { LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, NET, DIS, unknown };

struct Path {
  DeviceId from, to;
  PathKind kind = PathKind::unknown;
  std::string label;  // nvidia-smi's word where it is known: "NV18", "NODE"; else the kind's
  std::optional<double> GBps;  // the narrowest link of it

  bool operator==(const Path&) const = default;
};

// Where every pair's path stands. Only GPUs and NICs are asked for, in either order.
class PathTable {
 public:
  explicit PathTable(std::vector<Path> paths);

  // The path of a device to itself is LOC. A pair that is not in the table is `unknown`.
  [[nodiscard]] Path between(DeviceId from, DeviceId to) const;
  [[nodiscard]] const std::vector<Path>& all() const { return paths_; }

 private:
  std::vector<Path> paths_;  // sorted by (from, to)
};

// What a user can tell NCCL about paths, with its defaults.
struct PathOptions {
  std::optional<PathKind> peer_level;              // NCCL_P2P_LEVEL; empty: as PeerRule has it
  PathKind gpudirect_level = PathKind::PXB;        // NCCL_NET_GDR_LEVEL
  bool gpudirect_over_c2c = true;                  // NCCL_NET_GDR_C2C
  bool nvlink_through_gpu = true;                  // NCCL_NVB_DISABLE=0
  bool nic_through_gpu = true;                     // NCCL_PXN_DISABLE=0
  PathKind nic_through_gpu_level = PathKind::P2C;  // PXB: NCCL_PXN_C2C=0
};

// How many devices, GPUs first, a table has room for; pairs of others are `unknown`.
inline constexpr int kMaxPathDevices = 512;

// From links where `machine` has them, else, and for what links do not reach, from what the
// recording states of pairs (NODE is read as PHB). NVLinks that are stated count even where links
// show other ways: NCCL asks the driver for them. Between a GPU and a NIC it is the way from the
// GPU, which may lead through another one (PXN). Two ports of one adapter are LOC, as with NCCL.
// Cost: breadth-first from each device, O(devices x links).
[[nodiscard]] PathTable paths_of(const Machine& machine, const PathOptions& options = {});

[[nodiscard]] std::string_view to_string(PathKind kind);  // "LOC", ..., "unknown"
[[nodiscard]] std::optional<PathKind> parse_path_kind(std::string_view text);

}  // namespace lockstep::topology
