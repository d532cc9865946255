// A PCI tree as a recording or /sys gives it, and how devices hang off it in NCCL's eyes.
//
// NCCL sees a PCIe switch by its upstream port: going up from a device, every second bridge is a
// switch, downstream and root ports are passed over (graph/xml.cc, 2.28). What is left when no pair
// of bridges remains is the root complex, which belongs to a NUMA node. Thread rule: pure
// functions.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "topology/machine.h"

namespace lockstep::topology {

struct PciFunction {
  PciDevice pci;                       // with its address
  std::optional<PciAddress> parent;    // the bridge above; empty: a root complex
  std::optional<int> numa;             // as stated for this function
  std::optional<CpuSet> cpus;          // near CPUs, as stated
  bool virtual_function = false;       // of SR-IOV
  std::optional<PciAddress> physical;  // of a virtual function: whose it is
  std::optional<double> GBps;          // of its link in NCCL's count, where only that is known
  std::string name;                    // product, where it is known
};

using PciTree = std::map<PciAddress, PciFunction>;

[[nodiscard]] bool is_gpu(const PciDevice& pci);      // NVIDIA and AMD GPUs that NCCL or RCCL drive
[[nodiscard]] bool is_network(const PciDevice& pci);  // class 02xxxx
[[nodiscard]] bool is_nvswitch(const PciDevice& pci);  // NVIDIA, class 0680xx

// The NUMA node of a function: as stated, else the node whose CPUs are its near CPUs, else the
// machine's only node. Empty where none of these is known; the caller says so.
[[nodiscard]] std::optional<int> nearest_numa(const Machine& machine, const PciFunction& function);

// Adds the links from `device`, at `address` in `tree`, up to a NUMA node, and the switches between
// that `machine` has not got yet. Without a known NUMA node the links end at the topmost switch,
// and a finding "unknown-locality" says so. A device without an address hangs off the first node,
// as NCCL has it. REQUIRES: machine.numa is read.
void attach(Machine& machine, const PciTree& tree, DeviceId device,
            std::optional<PciAddress> address);

// A link between every two NUMA nodes that have CPUs, as NCCL has it; none beyond 64 such nodes.
void connect_numa_nodes(Machine& machine);

}  // namespace lockstep::topology
