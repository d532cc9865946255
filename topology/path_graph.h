// A machine as NCCL's graph: the nodes and links on which paths are searched.
//
// As NCCL has it: one node for all NVSwitches; one node an adapter card, from which its ports
// (NET) hang; a link between any two NUMA nodes that have devices; Broadcom's two-level switches
// made one. Source: NCCL 2.28 graph/topo.cc. Thread rule: a value.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

struct PathGraph {
  enum class NodeKind { gpu, pcie_switch, nvswitches, numa, card, port };

  struct Edge {
    int to = 0;                     // a node
    PathKind kind = PathKind::LOC;  // LOC, NVL, C2C, PIX (any PCIe link), SYS
    double GBps = 0;                // where not known: what does not make a path narrower
    bool known = true;              // whether GBps is
  };

  struct Node {
    NodeKind kind = NodeKind::gpu;
    std::vector<Edge> edges;
  };

  std::vector<Node> nodes;
  std::vector<int> gpus;   // by the machine's index
  std::vector<int> ports;  // by the index of the Nic
  std::vector<int> numa;   // those that have devices, in the machine's order
};

// Links that name devices the machine has not got are passed over. Cost: linear in devices and
// links, quadratic in NUMA nodes that have devices.
[[nodiscard]] PathGraph path_graph(const Machine& machine);

}  // namespace lockstep::topology
