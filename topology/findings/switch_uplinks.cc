#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "topology/bandwidth.h"
#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"
#include "topology/pci_vendors.h"

namespace lockstep::topology::findings {
namespace {

// GB/s. No slot of a GPU or RDMA adapter is as slow: four lanes of generation 2 have 1.5.
constexpr double kSlowest = 1.0;

// NCCL's logs give devices that hang by no link of their own 5000 GB/s.
constexpr double kLocal = 1000;

// GB/s of the link from `id` up, as NCCL will believe it.
std::optional<double> uplink_of(const Machine& machine, DeviceId id) {
  if (const auto own = stated_pcie_GBps(pci_of(machine, id)->link)) return own;
  for (const Link& up : machine.links) {
    if (up.kind == LinkKind::pcie && up.from == id && up.GBps) return up.GBps;
  }
  return std::nullopt;
}

// "2.5 GT/s x1", or nothing where only the bandwidth is known, and not one that a single link has.
std::string claim_of(const PcieLink& link, double GBps) {
  const auto speed = link.max_speed ? link.max_speed : link.speed;
  const auto width = link.max_width ? link.max_width : link.width;
  if (speed && width) return pcie_text(*speed, *width);
  return GBps < 0.25 ? pcie_text(2.5, 1) : "";
}

// "104c:8232"; empty where the recording does not say.
std::string model_of(const PciDevice& pci) {
  return pci.vendor && pci.device ? fmt::format("{:04x}:{:04x}", *pci.vendor, *pci.device) : "";
}

// QEMU's own, the Texas Instruments port that QEMU emulates, VMware's.
bool is_virtual(const Machine& machine, const PciDevice& pci) {
  return machine.system.virtual_machine.value_or(false) || pci.vendor == 0x1b36 ||
         pci.vendor == 0x15ad || (pci.vendor == 0x104c && pci.device == 0x8232);
}

bool matters(const Machine& machine, DeviceId id) {
  return id.kind == DeviceKind::gpu ||
         (id.kind == DeviceKind::nic &&
          may_carry_rdma(machine.nics[static_cast<std::size_t>(id.index)]));
}

// The fastest link of the devices below, if any of them matters.
std::optional<double> fastest_below(const Machine& machine, DeviceId port) {
  std::optional<double> fastest;
  for (const DeviceId id : below(machine, port)) {
    if (!matters(machine, id)) continue;
    const double GBps = uplink_of(machine, id).value_or(0);
    fastest = std::max(fastest.value_or(0), GBps < kLocal ? GBps : 0);
  }
  return fastest;
}

// The bridge that an AMD GPU's board has in front of it: the GPU's link to it is inside the package
// and as fast as it likes, the board's own is that of the bridge.
bool is_of_board(const Machine& machine, DeviceId port) {
  const auto vendor = pci_of(machine, port)->vendor;
  if (vendor != kAmdProcessors && vendor != kAmd) return false;
  return std::ranges::all_of(below(machine, port), [&machine](DeviceId id) {
    return id.kind == DeviceKind::gpu && pci_of(machine, id)->vendor == kAmd;
  });
}

Finding believed(const Machine& machine, DeviceId id, double GBps) {
  const PciDevice& pci = *pci_of(machine, id);
  const std::string claim = claim_of(pci.link, GBps);
  const std::string model = model_of(pci);
  return {.severity = Severity::error,
          .code = "slow-virtual-switch",
          .message = fmt::format("{}switch {}{}{} = {:.1f} GB/s ({}): NCCL believes it and avoids "
                                 "the way to the CPU.",
                                 is_virtual(machine, pci) ? "virtual " : "",
                                 model.empty() ? to_string(id) : model, claim.empty() ? "" : " at ",
                                 claim, GBps, name_of(machine, id)),
          .where = to_string(id),
          .remedy =
              "Give NCCL a topology file with the real speeds (NCCL_TOPO_FILE; `lockstep "
              "probe --format nccl-xml` writes one)."};
}

}  // namespace

std::vector<Finding> switch_uplinks(const Machine& machine) {
  std::vector<Finding> found;
  struct Claimants {
    std::vector<std::string> names, ids;
  };
  std::map<std::string, Claimants> suspicious;  // by model and claim
  for (std::size_t i = 0; i < machine.switches.size(); ++i) {
    const DeviceId id{DeviceKind::pcie_switch, static_cast<int>(i)};
    const auto GBps = uplink_of(machine, id);
    const auto fastest = fastest_below(machine, id);
    if (!GBps || !fastest) continue;
    if (*GBps < kSlowest) {
      found.push_back(believed(machine, id, *GBps));
    } else if (2 * *GBps < *fastest && !is_of_board(machine, id)) {
      const PciDevice& pci = machine.switches[i].pci;
      const std::string model = model_of(pci);
      const std::string key = fmt::format(
          "{:.1f} GB/s ({}{}{}), a device below has {:.1f} GB/s", *GBps, claim_of(pci.link, *GBps),
          pci.link.as_written.empty() ? "" : fmt::format(", \"{}\"", pci.link.as_written),
          model.empty() ? "" : fmt::format(", switch {}", model), *fastest);
      suspicious[key].names.push_back(name_of(machine, id));
      suspicious[key].ids.push_back(to_string(id));
    }
  }
  for (const auto& [key, claimants] : suspicious) {
    found.push_back(
        {.severity = Severity::warning,
         .code = "suspicious-switch-uplink",
         .message = fmt::format("{} {} an uplink of {}.", list_of(claimants.names),
                                claimants.names.size() == 1 ? "claims" : "claim", key),
         .where = fmt::format("{}", fmt::join(claimants.ids, ", ")),
         .remedy = "Compare with LnkSta of `lspci -vvv` as root. If the link is faster, the "
                   "switch's firmware reports it wrongly and NCCL takes the way to the CPU for "
                   "slower than it is: give it a corrected NCCL_TOPO_FILE."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
