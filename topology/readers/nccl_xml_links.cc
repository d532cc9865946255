#include "topology/readers/nccl_xml_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "topology/bandwidth.h"
#include "topology/readers/nccl_xml_attributes.h"

namespace lockstep::topology {
namespace {

constexpr int kMostLinks = 1 << 10;  // of one element; a GPU has 18

Finding finding_of(std::string code, std::string message, std::string remedy) {
  return {.severity = Severity::warning,
          .code = std::move(code),
          .message = std::move(message),
          .where = "",
          .remedy = std::move(remedy)};
}

}  // namespace

void NcclXmlLinks::add(pugi::xml_node gpu, int index, int numa) {
  for (const pugi::xml_node child : gpu.children()) {
    const std::string_view name = child.name();
    if (name == "nvlink" || name == "xgmi" || name == "c2c")
      stated_.push_back({child, {DeviceKind::gpu, index}, numa});
  }
}

void NcclXmlLinks::add_peers(pugi::xml_node pci, int index) {
  for (const pugi::xml_node child : pci.children("pcilink"))
    stated_.push_back({child, {DeviceKind::pcie_switch, index}, 0});
}

std::vector<NcclXmlLinks::Problem> NcclXmlLinks::resolve(Machine& machine) {
  const auto know = [this](const std::optional<PciAddress>& address, DeviceKind kind,
                           std::size_t index) {
    if (address) devices_.try_emplace(*address, DeviceId{kind, static_cast<int>(index)});
  };
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    know(machine.gpus[i].pci.address, DeviceKind::gpu, i);
  for (std::size_t i = 0; i < machine.switches.size(); ++i)
    know(machine.switches[i].pci.address, DeviceKind::pcie_switch, i);
  for (std::size_t i = 0; i < machine.nvswitches.size(); ++i) {
    if (machine.nvswitches[i].pci.address)
      nvswitches_[to_string(*machine.nvswitches[i].pci.address)] = static_cast<int>(i);
  }
  for (const Stated& stated : stated_) {
    if (stated.from.kind == DeviceKind::gpu) {
      resolve_gpu_link(stated, machine);
    } else {
      resolve_peer(stated, machine);
    }
  }
  for (const auto& [ends, both] : counts_) {
    machine.links.push_back({.from = ends.first,
                             .to = ends.second,
                             .kind = both.kind,
                             .count = std::max(both.forth, both.back),
                             .GBps = std::nullopt});
    if (ends.second.kind != DeviceKind::gpu || both.forth == both.back) continue;
    problems_.push_back(
        {both.element,
         finding_of("link-sides-differ",
                    fmt::format("{} states {} links to {}, which states {}", to_string(ends.first),
                                both.forth, to_string(ends.second), both.back),
                    "record the topology again, or correct the file: both ends of "
                    "a link count it")});
  }
  return std::move(problems_);
}

void NcclXmlLinks::resolve_gpu_link(const Stated& stated, Machine& machine) {
  const std::string_view name = stated.element.name();
  const int count = int_attribute(stated.element, "count").value_or(0);
  if (count < 1 || count > kMostLinks) {
    problems_.push_back(
        {stated.element,
         finding_of("link-count-refused",
                    fmt::format("expected how many links {} has, found count=\"{}\"",
                                to_string(stated.from), text_attribute(stated.element, "count")),
                    "correct the count")});
    return;
  }
  if (name == "c2c") {
    const auto each = number_attribute(stated.element, "bw");  // MB/s
    machine.links.push_back(
        {.from = stated.from,
         .to = {DeviceKind::numa, stated.numa},
         .kind = LinkKind::c2c,
         .count = count,
         .GBps = each && *each > 0 ? std::optional(*each * count / 1000) : std::nullopt});
    return;
  }
  const auto to = other_end(stated, machine);
  if (!to) return;
  Both& both = counts_[std::minmax(stated.from, *to)];
  both.kind = name == "xgmi" ? LinkKind::xgmi : LinkKind::nvlink;
  both.element = stated.element;
  int& side = stated.from < *to ? both.forth : both.back;
  side = std::min(side + count, kMostLinks);
}

std::optional<DeviceId> NcclXmlLinks::other_end(const Stated& stated, Machine& machine) {
  const std::string target(text_attribute(stated.element, "target"));
  const auto address = parse_pci_address(target);
  const auto known = address ? devices_.find(*address) : devices_.end();
  if (known != devices_.end() && known->second == stated.from) {
    Finding itself =
        finding_of("nvlink-to-itself",
                   fmt::format("the {} of {} at {} leads to the GPU itself and is not counted",
                               stated.element.name(), to_string(stated.from), target),
                   "some providers steer NCCL's search that way; ask the driver for the real "
                   "links: `nvidia-smi nvlink -s`, `nvidia-smi topo -m`");
    itself.severity = Severity::info;  // meant so by whoever wrote the file
    problems_.push_back({stated.element, std::move(itself)});
    return std::nullopt;
  }
  const std::uint32_t code = hex_attribute(stated.element, "tclass").value_or(0);
  if (code == 0x068000) return nvswitch_of(address ? to_string(*address) : target, machine);
  if (code == 0x068001) return DeviceId{DeviceKind::numa, stated.numa};  // POWER9's processor
  if (known != devices_.end() && known->second.kind == DeviceKind::gpu) return known->second;
  problems_.push_back(
      {stated.element,
       finding_of("link-target-missing",
                  fmt::format("the {} of {} leads to \"{}\", which is no GPU of this file",
                              stated.element.name(), to_string(stated.from), target),
                  "the file shows a part of the machine only, or the target is wrong")});
  return std::nullopt;
}

// NVSwitches need not be in the PCI tree: virtual machines do not see them. Their address is then
// whatever the driver says.
DeviceId NcclXmlLinks::nvswitch_of(const std::string& target, Machine& machine) {
  const auto [known, is_new] =
      nvswitches_.try_emplace(target, static_cast<int>(machine.nvswitches.size()));
  if (is_new) {
    Switch nvswitch;
    nvswitch.pci.address = parse_pci_address(target);
    if (nvswitch.pci.address) nvswitch.pci.class_code = 0x068000;
    machine.nvswitches.push_back(std::move(nvswitch));
  }
  return {DeviceKind::nvswitch, known->second};
}

void NcclXmlLinks::resolve_peer(const Stated& stated, Machine& machine) {
  const auto address = parse_pci_address(text_attribute(stated.element, "target"));
  const auto known = address ? devices_.find(*address) : devices_.end();
  if (known == devices_.end() || known->second.kind != DeviceKind::pcie_switch) return;
  if (known->second == stated.from) return;
  const auto [lower, upper] = std::minmax(stated.from, known->second);
  const Link link{.from = upper,
                  .to = lower,
                  .kind = LinkKind::pcie,
                  .count = 1,
                  .GBps = kLocalGBps};  // within the chip
  if (std::ranges::find(machine.links, link) == machine.links.end()) machine.links.push_back(link);
}

}  // namespace lockstep::topology
