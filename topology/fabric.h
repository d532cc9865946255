// The network between hosts: InfiniBand switches, the adapters on them, tiers and rails.
//
// Thread rule: a value. Source: `ibnetdiscover` (facts are those of its output).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::topology {

struct FabricPort {
  int number = 0;
  std::string peer;  // GUID of the node at the other end
  int peer_port = 0;
  double rate_Gbps = 0;  // 0: not stated
};

struct FabricSwitch {
  std::string guid, name;
  int tier = 0;  // 0: adapters hang off it (a leaf); else one more than the lowest below
  std::vector<FabricPort> ports;  // those that are connected
};

struct FabricAdapter {
  std::string guid, name;  // as described: "node07 mlx5_3"
  std::string host;        // of the description; empty where it does not say
  std::string device;      // "mlx5_3", "HCA-4"; empty where it does not say
  std::vector<FabricPort> ports;
};

// Leaves that serve the same adapter of all their hosts, so that NIC i talks to NIC i in one hop.
struct Rail {
  std::string device;                 // what the adapters of it share, where that is known
  std::vector<std::string> switches;  // GUIDs of the leaves
  std::vector<std::string> adapters;  // GUIDs
};

struct Fabric {
  std::vector<FabricSwitch> switches;
  std::vector<FabricAdapter> adapters;
  int tiers = 0;
  std::vector<Rail> rails;
  // Slurm's blocks, where that is what was read: names of hosts by block.
  std::vector<std::vector<std::string>> blocks;
};

}  // namespace lockstep::topology
