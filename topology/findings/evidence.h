// What the rules share: how a device is named in a message, what lies below a switch, and which
// adapters carry RDMA.
//
// Thread rule: pure functions. Ids must be of the machine's own lists; links of damaged recordings
// that point elsewhere are passed over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology::findings {

// Whether `id` is in the machine's lists.
[[nodiscard]] bool is_known(const Machine& machine, DeviceId id);

// The PCI device of a GPU, NIC or switch; null for a NUMA node and for what is not known.
[[nodiscard]] const PciDevice* pci_of(const Machine& machine, DeviceId id);

// "GPU3 (0000:5d:00.0)", "NIC2 (mlx5_2)", "SW0 (0000:08:00.0)"; only the id where nothing else is
// known.
[[nodiscard]] std::string name_of(const Machine& machine, DeviceId id);

// "GPU0", "GPU0 and GPU2", "GPU0, GPU2 and GPU5".
[[nodiscard]] std::string list_of(const std::vector<std::string>& names);

// The GPUs and NICs that hang off `port`, through switches too. Cost: O(devices x links).
[[nodiscard]] std::vector<DeviceId> below(const Machine& machine, DeviceId port);

// Infiniband, RoCE, EFA, an adapter of a kind that the recording does not say, or one whose maker
// builds none without; not plain Ethernet.
[[nodiscard]] bool may_carry_rdma(const Nic& nic);
[[nodiscard]] bool has_rdma(const Machine& machine);

// "2.5 GT/s x1".
[[nodiscard]] std::string pcie_text(double speed, int width);

}  // namespace lockstep::topology::findings
