// The network between hosts: InfiniBand switches, the adapters on them, tiers and rails.
//
// Thread rule: a value. Source: `ibnetdiscover` (facts are those of its output), or what Slurm was
// told in its topology.conf, which has names instead of GUIDs: there `guid` is empty, ports have no
// number, and `peer` is a name.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::topology {

struct FabricPort {
  int number = 0;
  std::string peer;  // GUID of the node at the other end; its name where nodes have none
  int peer_port = 0;
  double rate_Gbps = 0;  // 0: not stated

  bool operator==(const FabricPort&) const = default;
};

struct FabricSwitch {
  std::string guid, name;
  // 0: adapters hang off it (a leaf); else one more than the lowest below. Where the source says
  // which switch is below which (Slurm), one more than the highest below. -1: no adapter reaches
  // it.
  int tier = 0;
  std::vector<FabricPort> ports;  // those that are connected

  bool operator==(const FabricSwitch&) const = default;
};

// Only hosts' adapters make a switch a leaf or belong to rails. Aggregation nodes are inside
// switches (SHARP); every switch may have one.
enum class AdapterKind { host, aggregation, router };

struct FabricAdapter {
  std::string guid, name;  // as described: "node07 mlx5_3"
  std::string host;        // of the description; empty where it does not say
  std::string device;      // "mlx5_3", "HCA-4"; empty where it does not say
  AdapterKind kind = AdapterKind::host;
  std::vector<FabricPort> ports;

  bool operator==(const FabricAdapter&) const = default;
};

// By what ports and rails call a switch or an adapter.
template <typename Node>
[[nodiscard]] const std::string& id_of(const Node& node) {
  return node.guid.empty() ? node.name : node.guid;
}

// Leaves that serve the same adapter of all their hosts, so that NIC i talks to NIC i in one hop.
struct Rail {
  std::string device;                 // what the adapters of it share, where that is known
  std::vector<std::string> switches;  // GUIDs of the leaves
  std::vector<std::string> adapters;  // GUIDs

  bool operator==(const Rail&) const = default;
};

struct Fabric {
  std::vector<FabricSwitch> switches;
  std::vector<FabricAdapter> adapters;
  int tiers = 0;
  std::vector<Rail> rails;
  // Slurm's blocks, where that is what was read: names of hosts by block.
  std::vector<std::vector<std::string>> blocks;
  // Slurm's BlockSizes, ascending: hosts of the base block, then of the blocks made of several.
  std::vector<int> block_sizes;

  bool operator==(const Fabric&) const = default;
};

}  // namespace lockstep::topology
