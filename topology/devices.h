// The parts a machine is made of: processors, memory domains, GPUs, network adapters and switches.
//
// Thread rule: values. A field that a recording did not give is empty (optional, empty text, empty
// list): unknown is never written as 0. Ids are positions in the machine's lists
// (topology/machine.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/cpu_set.h"
#include "topology/pci_address.h"

namespace lockstep::topology {

// The kind of processor decides how fast NUMA nodes talk to each other (topology/bandwidth.h).
struct Cpu {
  std::string architecture;  // "x86_64", "arm64", "ppc64"
  std::string vendor;        // as /proc/cpuinfo has it: "GenuineIntel", "AuthenticAMD"
  std::string model;         // the marketing name
  std::optional<int> family, model_number;  // in NCCL's count: base + (extended << 4)
  std::optional<int> sockets, cores, threads;

  bool operator==(const Cpu&) const = default;
};

struct NumaNode {
  int id = 0;   // the operating system's number
  CpuSet cpus;  // empty: a node of memory only (GPU memory of Grace machines, CXL)
  std::optional<std::uint64_t> memory;  // bytes
  std::optional<int> socket;
  std::optional<int> mask_words;  // of 32 bits, where `cpus` was written as a mask

  bool operator==(const NumaNode&) const = default;
};

// The link from a PCIe device up to its switch or root port. Speeds are GT/s of a lane (2.5, 5, 8,
// 16, 32, 64).
struct PcieLink {
  std::optional<double> max_speed, speed;  // what device and slot could do; what they do now
  std::optional<int> max_width, width;     // lanes
  std::string as_written;                  // the speed as the recording has it, for evidence

  bool operator==(const PcieLink&) const = default;
};

struct PciDevice {
  std::optional<PciAddress> address;
  std::optional<std::uint32_t> class_code;  // 24 bits: 0x060400
  std::optional<std::uint32_t> vendor, device, subsystem_vendor, subsystem_device;
  PcieLink link;

  bool operator==(const PciDevice&) const = default;
};

// One NVLink port of a GPU, as `nvidia-smi nvlink` or NVML reports it.
struct NvlinkPort {
  int number = 0;
  bool active = false;
  std::optional<double> GBps;        // one direction
  std::optional<PciAddress> remote;  // the device at the other end
  std::string remote_kind;           // "GPU", "Switch", as reported; empty where it was not

  bool operator==(const NvlinkPort&) const = default;
};

struct Gpu {
  std::string name;  // the product
  std::string uuid;
  PciDevice pci;
  std::optional<int> numa;              // the node whose CPUs are near
  std::optional<int> memory_numa;       // the node that is this GPU's own memory (Grace)
  std::optional<CpuSet> cpus;           // near CPUs, where stated apart from the node
  std::optional<int> sm;                // compute capability times 10: 90
  std::optional<std::uint64_t> memory;  // bytes
  std::optional<bool> gpudirect;        // NCCL's `gdr` of a GPU
  std::vector<NvlinkPort> nvlinks;

  bool operator==(const Gpu&) const = default;
};

enum class NicKind { unknown, infiniband, roce, ethernet, efa, other };
enum class NicState { unknown, active, down };

struct Gid {
  int index = 0;
  std::string address;   // eight groups of four hexadecimal digits, lower case
  std::string type;      // "RoCE v1", "RoCE v2", "IB"; empty where it was not given
  std::string netdev;    // the interface it belongs to; empty where it was not given
  bool readable = true;  // false: of another network namespace

  bool operator==(const Gid&) const = default;
};

// One port of an adapter, which is what NCCL calls a net device. Two ports of a card are two Nics
// of one PCI address.
struct Nic {
  std::string name;  // the RDMA device ("mlx5_0") where there is one, else the network interface
  PciDevice pci;
  std::optional<int> numa;
  NicKind kind = NicKind::unknown;
  NicState state = NicState::unknown;
  std::optional<double> rate_Gbps;
  std::optional<int> port;  // counted from 1
  std::string netdev;  // the network interface of an RDMA device; a bond's where the device is one
  std::string guid;    // as the recording has it
  std::string board;   // "MT4129", board id or product
  std::string physical_state;  // "LinkUp", "Polling", "Disabled"
  std::optional<bool> gpudirect;
  bool virtual_function = false;
  std::vector<Gid> gids;

  bool operator==(const Nic&) const = default;
};

// Access control services of a bridge. What sends peer-to-peer traffic up to the root complex makes
// it slow, or hang.
struct AccessControl {
  bool source_validation = false;
  bool request_redirect = false;
  bool completion_redirect = false;
  bool upstream_forwarding = false;

  bool operator==(const AccessControl&) const = default;
};

struct Switch {
  PciDevice pci;  // of an NVSwitch without an address: all empty
  std::optional<AccessControl>
      access_control;  // empty: could not be read (needs root), or the bridge has none
  std::string name;

  bool operator==(const Switch&) const = default;
};

enum class InterfaceKind {
  unknown,
  physical,
  loopback,
  bridge,
  bond,
  vlan,
  vxlan,
  veth,
  tunnel,
  infiniband
};

// A network interface of the operating system.
struct Interface {
  std::string name;
  InterfaceKind kind = InterfaceKind::unknown;
  std::optional<bool> up;              // carries traffic: IFF_RUNNING
  std::vector<std::string> addresses;  // with prefix length: "10.0.0.1/24"
  std::string master;                  // the bond or bridge it belongs to
  std::optional<double> rate_Gbps;
  std::optional<PciAddress> pci;
  std::optional<bool> own_arp;  // answers ARP for its own addresses only (arp_ignore)

  bool operator==(const Interface&) const = default;
};

}  // namespace lockstep::topology
