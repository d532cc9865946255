#include "topology/readers/nccl_xml_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "topology/bandwidth.h"
#include "topology/readers/nccl_xml_attributes.h"

namespace lockstep::topology {
namespace {

constexpr int kDeepest = 32;            // PCI buses nest less deep than that
constexpr std::size_t kMostGpus = 256;  // as many nodes as NCCL takes of one kind
constexpr std::size_t kMostNics = 512;
constexpr std::size_t kMostConnectedNuma = 64;

}  // namespace

NcclXmlMachine::NcclXmlMachine(const Recording& recording)
    : recording_(recording), notes_(recording.name) {
  machine_.sources = {"nccl-xml"};
}

void NcclXmlMachine::read(pugi::xml_node system) {
  const std::string_view host = text_attribute(system.child("cpu"), "host_hash");
  bool other_hosts = false;
  for (const pugi::xml_node cpu : system.children("cpu")) {
    if (text_attribute(cpu, "host_hash") == host) {
      read_cpu(cpu);
    } else if (!std::exchange(other_hosts, true)) {
      add_finding(cpu, {.severity = Severity::warning,
                        .code = "other-hosts",
                        .message = "the file is of several hosts; only the first one is read",
                        .where = "",
                        .remedy = "give a file of one host; never hand one of several to NCCL"});
    }
  }
  for (std::size_t a = 0; a < std::min(machine_.numa.size(), kMostConnectedNuma); ++a) {
    for (std::size_t b = a + 1; b < std::min(machine_.numa.size(), kMostConnectedNuma); ++b)
      machine_.links.push_back({.from = {DeviceKind::numa, machine_.numa[a].id},
                                .to = {DeviceKind::numa, machine_.numa[b].id},
                                .kind = LinkKind::numa,
                                .count = 1,
                                .GBps = std::nullopt});
  }
  for (auto& [element, finding] : links_.resolve(machine_))
    add_finding(element, std::move(finding));
  note_kindless();
}

Machine NcclXmlMachine::take() && {
  machine_.findings = notes_.take();
  return std::move(machine_);
}

void NcclXmlMachine::read_pci(pugi::xml_node pci, DeviceId parent, int depth) {
  if (depth > kDeepest) {
    add_finding(pci, {.severity = Severity::warning,
                      .code = "nested-too-deep",
                      .message = fmt::format("a PCI device below {} others is left out", kDeepest),
                      .where = "",
                      .remedy = "record it again; no PCI tree is that deep"});
    return;
  }
  const PciRole role = role_of(pci);
  PciDevice device = pci_of(pci);
  note_speed(pci, device);
  switch (role) {
    case PciRole::gpu:
      read_gpu(pci, parent);
      return;
    case PciRole::nic:
      read_nics(pci, device, parent);
      return;
    case PciRole::nvswitch:
      machine_.nvswitches.push_back(
          {.pci = std::move(device), .access_control = std::nullopt, .name = ""});
      return;
    case PciRole::other:
      return;
    case PciRole::unknown:
      kindless_.emplace_back(text_attribute(pci, "busid"));
      return;
    case PciRole::pcie_switch: {
      const DeviceId id{DeviceKind::pcie_switch, static_cast<int>(machine_.switches.size())};
      machine_.switches.push_back(
          {.pci = std::move(device), .access_control = std::nullopt, .name = ""});
      machine_.links.push_back(
          {.from = id, .to = parent, .kind = LinkKind::pcie, .count = 1, .GBps = std::nullopt});
      links_.add_peers(pci, id.index);
      parent = id;
      break;
    }
    case PciRole::cpu_bridge:
      break;
  }
  for (const pugi::xml_node child : pci.children("pci")) read_pci(child, parent, depth + 1);
}

void NcclXmlMachine::read_gpu(pugi::xml_node pci, DeviceId parent) {
  if (!has_room(machine_.gpus.size(), kMostGpus, pci)) return;
  const auto index = static_cast<int>(machine_.gpus.size());
  Gpu gpu;
  gpu.pci = pci_of(pci);
  if (numa_ >= 0) gpu.numa = numa_;
  const pugi::xml_node element = pci.child("gpu");
  gpu.name = amd_architecture(element);
  // RCCL's `sm` counts compute units.
  const auto sm = int_attribute(element, "sm");
  if (gpu.name.empty() && sm && *sm > 0) gpu.sm = sm;
  if (const auto gpudirect = int_attribute(element, "gdr")) gpu.gpudirect = *gpudirect != 0;
  machine_.gpus.push_back(std::move(gpu));
  machine_.links.push_back({.from = {DeviceKind::gpu, index},
                            .to = parent,
                            .kind = LinkKind::pcie,
                            .count = 1,
                            .GBps = std::nullopt});
  for (const pugi::xml_node each : pci.children("gpu")) links_.add(each, index, numa_);
}

void NcclXmlMachine::read_nics(pugi::xml_node holder, const PciDevice& pci, DeviceId parent) {
  bool any = false;
  const auto read_nets = [&](pugi::xml_node nic) {
    for (const pugi::xml_node net : nic.children("net")) {
      if (net.attribute("dev").empty()) continue;  // NCCL passes it over
      any = true;
      add_nic(net, pci, parent);
    }
  };
  read_nets(holder);
  for (const pugi::xml_node nic : holder.children("nic")) read_nets(nic);
  if (!any && pci.address) add_nic({}, pci, parent);
}

void NcclXmlMachine::add_nic(pugi::xml_node net, const PciDevice& pci, DeviceId parent) {
  if (!has_room(machine_.nics.size(), kMostNics, net)) return;
  const auto index = static_cast<int>(machine_.nics.size());
  Nic nic;
  nic.name = text_attribute(net, "name");
  nic.pci = pci;
  if (numa_ >= 0) nic.numa = numa_;
  nic.kind = nic_kind(pci, nic.name);
  if (nic.kind == NicKind::ethernet) nic.netdev = nic.name;
  if (net) nic.state = NicState::active;              // NCCL lists no others
  const auto speed = number_attribute(net, "speed");  // Mb/s
  if (speed && *speed > 0) nic.rate_Gbps = *speed / 1000;
  const auto port = int_attribute(net, "port");
  if (port && *port > 0) nic.port = port;
  nic.guid = text_attribute(net, "guid");
  if (nic.guid == "0x0") nic.guid.clear();
  if (const auto gpudirect = int_attribute(net, "gdr")) nic.gpudirect = *gpudirect != 0;
  machine_.nics.push_back(std::move(nic));
  machine_.links.push_back(
      {.from = {DeviceKind::nic, index},
       .to = parent,
       .kind = LinkKind::pcie,
       .count = 1,
       .GBps = pci.address ? std::nullopt : std::optional(kLocalGBps)});  // no PCI device
}

bool NcclXmlMachine::has_room(std::size_t count, std::size_t most, pugi::xml_node element) {
  if (count < most) return true;
  add_finding(element, {.severity = Severity::warning,
                        .code = "too-many-devices",
                        .message = fmt::format("more than {} devices of a kind; the rest is left "
                                               "out",
                                               most),
                        .where = "",
                        .remedy = "NCCL takes 256 nodes a host: give a file of one host"});
  return false;
}

// NCCL matches the text exactly and takes everything else for generation 3. No text at all is what
// virtual machines have.
void NcclXmlMachine::note_speed(pugi::xml_node pci, const PciDevice& device) {
  const std::string& text = device.link.as_written;
  if (text.empty() || device.link.max_speed || unknown_speeds_[text]++ > 0) return;
  add_finding(pci, {.severity = Severity::warning,
                    .code = "pcie-speed-unknown",
                    .message = fmt::format("link_speed=\"{}\" is no speed that NCCL knows: it "
                                           "takes such links for 8 GT/s",
                                           text.substr(0, 64)),
                    .where = "",
                    .remedy = "write it as \"32.0 GT/s PCIe\""});
}

void NcclXmlMachine::note_kindless() {
  if (kindless_.empty()) return;
  constexpr std::size_t kShown = 16;
  std::string names;
  for (std::size_t i = 0; i < std::min(kindless_.size(), kShown); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", kindless_[i]);
  if (kindless_.size() > kShown) names += ", ...";
  notes_.add({.severity = Severity::info,
              .code = "devices-without-class",
              .message = fmt::format("{} devices have no class: GPUs or adapters, which only the "
                                     "host itself can tell ({})",
                                     kindless_.size(), names),
              .where = recording_.name,
              .remedy = "read it together with a recording of the host, such as `lspci -nn`"});
}

void NcclXmlMachine::add_finding(pugi::xml_node element, Finding finding) {
  // Beyond what is kept no line needs to be found.
  const int line = noted_ < Notes::kMax ? line_of(element) : 0;
  ++noted_;
  notes_.add(std::move(finding), line);
}

// Findings come in the file's order, so lines are counted on from the last one.
int NcclXmlMachine::line_of(pugi::xml_node element) {
  const std::string& text = recording_.text;
  const std::ptrdiff_t offset =
      std::clamp<std::ptrdiff_t>(element.offset_debug(), 0, std::ssize(text));
  if (offset < counted_to_) {
    counted_to_ = 0;
    line_ = 1;
  }
  line_ += static_cast<int>(std::count(text.begin() + counted_to_, text.begin() + offset, '\n'));
  counted_to_ = offset;
  return line_;
}

}  // namespace lockstep::topology
