#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

bool is_rdma(const Nic& nic) {
  return nic.kind == NicKind::infiniband || nic.kind == NicKind::roce || nic.kind == NicKind::efa;
}

// Another port of the device, or another function of the card, is in use.
bool has_active_sibling(const Machine& machine, const Nic& nic) {
  const auto card = [](PciAddress address) {
    address.function = 0;
    return address;
  };
  return std::ranges::any_of(machine.nics, [&nic, card](const Nic& other) {
    if (&other == &nic || other.state != NicState::active) return false;
    if (!nic.name.empty() && other.name == nic.name) return true;
    return nic.pci.address && other.pci.address &&
           card(*nic.pci.address) == card(*other.pci.address);
  });
}

Finding down(const Machine& machine, DeviceId id, const Nic& nic) {
  const bool spare = has_active_sibling(machine, nic) || nic.kind != NicKind::infiniband;
  return {
      .severity = spare ? Severity::info : Severity::warning,
      .code = "nic-down",
      .message = fmt::format("{} is down{}{}: NCCL leaves it out{}.", name_of(machine, id),
                             nic.physical_state.empty() ? "" : ", its link is ", nic.physical_state,
                             spare ? "" : ", and the GPU near it sends through another one"),
      .where = to_string(id),
      .remedy = spare ? "Nothing, if the port is not cabled on purpose."
                      : "Look at cable and switch port (Polling: no partner; Disabled: by the "
                        "administrator), then at the subnet manager."};
}

bool is_bond(const Machine& machine, const Nic& nic) {
  if (nic.name.find("bond") != std::string::npos || nic.netdev.starts_with("bond")) return true;
  return std::ranges::any_of(machine.interfaces, [&nic](const Interface& interface) {
    if (nic.netdev.empty() || interface.name != nic.netdev) return false;
    return interface.kind == InterfaceKind::bond || !interface.master.empty();
  });
}

}  // namespace

std::vector<Finding> nic_states(const Machine& machine) {
  std::vector<Finding> found;
  int infiniband = 0;
  std::vector<std::string> ethernet;
  std::string where;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    const DeviceId id{DeviceKind::nic, static_cast<int>(i)};
    if (is_rdma(nic) && nic.state == NicState::down) found.push_back(down(machine, id, nic));
    if (nic.state != NicState::active) continue;
    if (nic.kind == NicKind::infiniband) ++infiniband;
    // A bond is plainly the host's own network, and kept from jobs by it.
    if (nic.kind == NicKind::roce && !is_bond(machine, nic)) {
      if (where.empty()) where = to_string(id);
      ethernet.push_back(nic.rate_Gbps
                             ? fmt::format("{} at {} Gb/s", name_of(machine, id), *nic.rate_Gbps)
                             : name_of(machine, id));
    }
  }
  const bool is_chosen =
      std::ranges::count(machine.system.settings, "NCCL_IB_HCA", &Setting::variable) > 0;
  if (infiniband > 0 && !ethernet.empty() && !is_chosen) {
    found.push_back({.severity = Severity::warning,
                     .code = "ethernet-among-infiniband",
                     .message = fmt::format("{} {} Ethernet among {} InfiniBand port{}: NCCL uses "
                                            "every active port, and jobs hang or slow down on it.",
                                            list_of(ethernet), ethernet.size() == 1 ? "is" : "are",
                                            infiniband, infiniband == 1 ? "" : "s"),
                     .where = where,
                     .remedy =
                         "Name the InfiniBand ports in NCCL_IB_HCA, with `=`; `lockstep tune` "
                         "does."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
