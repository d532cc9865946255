#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "topology/bond.h"
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

// Active ports of the other link layer, as a finding names them.
struct Ethernet {
  std::vector<std::string> names, ids;

  void add(const Machine& machine, DeviceId id) {
    const auto rate = machine.nics[static_cast<std::size_t>(id.index)].rate_Gbps;
    const std::string name = name_of(machine, id);
    names.push_back(rate ? fmt::format("{} at {} Gb/s", name, *rate) : name);
    ids.push_back(to_string(id));
  }
};

Finding among(const Ethernet& ports, int infiniband, std::string_view what, Severity severity) {
  return {.severity = severity,
          .code = "ethernet-among-infiniband",
          .message = fmt::format("{} {} {} among {} InfiniBand port{}: NCCL uses every active "
                                 "port, and takes {} for a rail too unless NCCL_IB_HCA says "
                                 "otherwise.",
                                 list_of(ports.names), ports.names.size() == 1 ? "is" : "are", what,
                                 infiniband, infiniband == 1 ? "" : "s",
                                 ports.names.size() == 1 ? "it" : "them"),
          .where = fmt::format("{}", fmt::join(ports.ids, ", ")),
          .remedy =
              "For jobs of several hosts, which would hang or slow down on it, name the "
              "InfiniBand ports in NCCL_IB_HCA, with `=`; `lockstep tune` does."};
}

// A bond is plainly the host's own network, which belongs there and is only to be kept from jobs;
// of a single port nobody can tell whether it was meant for a rail.
std::vector<Finding> ethernet_among_infiniband(const Machine& machine) {
  if (std::ranges::count(machine.system.settings, "NCCL_IB_HCA", &Setting::variable) > 0) return {};
  int infiniband = 0;
  Ethernet single, bonds;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    if (nic.state != NicState::active) continue;
    if (nic.kind == NicKind::infiniband) ++infiniband;
    if (nic.kind != NicKind::roce) continue;
    const DeviceId id{DeviceKind::nic, static_cast<int>(i)};
    (bond_of(machine, nic).empty() ? single : bonds).add(machine, id);
  }
  std::vector<Finding> found;
  if (infiniband == 0) return found;
  if (!single.ids.empty())
    found.push_back(among(single, infiniband, "Ethernet", Severity::warning));
  if (!bonds.ids.empty()) {
    found.push_back(among(bonds, infiniband,
                          bonds.ids.size() == 1 ? "an Ethernet bond" : "Ethernet bonds",
                          Severity::info));
  }
  return found;
}

}  // namespace

std::vector<Finding> nic_states(const Machine& machine) {
  std::vector<Finding> found;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    if (is_rdma(nic) && nic.state == NicState::down)
      found.push_back(down(machine, {DeviceKind::nic, static_cast<int>(i)}, nic));
  }
  std::ranges::move(ethernet_among_infiniband(machine), std::back_inserter(found));
  return found;
}

}  // namespace lockstep::topology::findings
