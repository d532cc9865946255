#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

template <typename Value>
std::optional<Value> least(std::optional<Value> a, std::optional<Value> b) {
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

struct Limits {
  std::optional<double> speed;
  std::optional<int> width;
};

// What the device and the port above it can both do. A value of 0 is a virtual function's or a
// hypervisor's way of not saying.
Limits limits_of(const Machine& machine, DeviceId id) {
  const PcieLink& own = pci_of(machine, id)->link;
  Limits limits{own.max_speed, own.max_width};
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::pcie || link.from != id) continue;
    if (link.to.kind != DeviceKind::pcie_switch) continue;
    const PciDevice* above = pci_of(machine, link.to);
    if (!above) continue;
    limits.speed = least(limits.speed, above->link.max_speed);
    limits.width = least(limits.width, above->link.max_width);
  }
  return limits;
}

// Whether `port` has one device below it, all its functions together, as a slot has and the upper
// port of a switch has not.
bool is_slot(const Machine& machine, DeviceId port) {
  const PciDevice* only = nullptr;
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::pcie || link.to != port) continue;
    const PciDevice* device = pci_of(machine, link.from);
    if (!device || !device->address) return false;
    if (only && (only->address->domain != device->address->domain ||
                 only->address->bus != device->address->bus ||
                 only->address->device != device->address->device))
      return false;
    only = device;
  }
  return only != nullptr;
}

bool is_narrow(const PcieLink& link, const Limits& limits) {
  return link.width && limits.width && *link.width > 0 && *link.width < *limits.width;
}

bool is_slow(const PcieLink& link, const Limits& limits) {
  return link.speed && limits.speed && *link.speed > 0 && *link.speed < *limits.speed;
}

Finding narrow(const Machine& machine, DeviceId id, const Limits& limits, Severity severity) {
  return {
      .severity = severity,
      .code = "narrow-pcie-link",
      .message = fmt::format("{} runs on {} of the {} PCIe lanes that device and slot have.",
                             name_of(machine, id), *pci_of(machine, id)->link.width, *limits.width),
      .where = to_string(id),
      .remedy =
          "Reseat the card and its riser, look for a bifurcation setting of the BIOS, "
          "and try another slot."};
}

Finding slow(const Machine& machine, DeviceId id, const Limits& limits, Severity severity) {
  return {
      .severity = severity,
      .code = "slow-pcie-link",
      .message = fmt::format("{} runs at {} GT/s a lane, device and slot can do {} GT/s.",
                             name_of(machine, id), *pci_of(machine, id)->link.speed, *limits.speed),
      .where = to_string(id),
      .remedy =
          "Look at the link speed setting of the slot in the BIOS and at the kernel's log "
          "for PCIe errors; reseat the card."};
}

// GPUs lower their links when idle, and so do the ports above them.
void add_idle_gpus(const Machine& machine, std::vector<Finding>& found) {
  std::vector<std::string> names;
  double now = 0, could = 0;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const DeviceId id{DeviceKind::gpu, static_cast<int>(i)};
    const Limits limits = limits_of(machine, id);
    if (!is_slow(machine.gpus[i].pci.link, limits)) continue;
    names.push_back(to_string(id));
    now = *machine.gpus[i].pci.link.speed;
    could = *limits.speed;
  }
  if (names.empty()) return;
  found.push_back(
      {.severity = Severity::info,
       .code = "slow-pcie-link",
       .message = fmt::format("{} {} at {} of {} GT/s a lane now, as GPUs do when idle.",
                              list_of(names), names.size() == 1 ? "runs" : "run", now, could),
       .where = names.front(),
       .remedy = "Read it again while a job runs; only if it stays is it a fault."});
}

}  // namespace

std::vector<Finding> pcie_links(const Machine& machine) {
  std::vector<Finding> found;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const DeviceId id{DeviceKind::gpu, static_cast<int>(i)};
    const Limits limits = limits_of(machine, id);
    if (is_narrow(machine.gpus[i].pci.link, limits))
      found.push_back(narrow(machine, id, limits, Severity::warning));
  }
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    if (nic.virtual_function) continue;
    const DeviceId id{DeviceKind::nic, static_cast<int>(i)};
    const Limits limits = limits_of(machine, id);
    const Severity severity = may_carry_rdma(nic) ? Severity::warning : Severity::info;
    if (is_narrow(nic.pci.link, limits)) found.push_back(narrow(machine, id, limits, severity));
    if (is_slow(nic.pci.link, limits)) found.push_back(slow(machine, id, limits, severity));
  }
  for (std::size_t i = 0; i < machine.switches.size(); ++i) {
    const DeviceId id{DeviceKind::pcie_switch, static_cast<int>(i)};
    const PcieLink& link = machine.switches[i].pci.link;
    const Limits limits = limits_of(machine, id);
    // Of a slot's port the link is the one below: the card's rule judges it.
    if (is_slot(machine, id)) continue;
    if (!is_narrow(link, limits) && !is_slow(link, limits)) continue;
    // Ports with nothing of ours below them are idle, empty, or of no concern.
    const std::vector<DeviceId> devices = below(machine, id);
    if (devices.empty()) continue;
    if (is_narrow(link, limits)) found.push_back(narrow(machine, id, limits, Severity::warning));
    if (is_slow(link, limits) && std::ranges::count(devices, DeviceKind::gpu, &DeviceId::kind) == 0)
      found.push_back(slow(machine, id, limits, Severity::warning));
  }
  add_idle_gpus(machine, found);
  return found;
}

}  // namespace lockstep::topology::findings
