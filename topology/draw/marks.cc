#include "topology/draw/marks.h"

#include <string>
#include <string_view>

#include "topology/device_tree.h"

namespace lockstep::topology {
namespace {

using Names = std::multimap<std::string, DeviceId, std::less<>>;

constexpr std::size_t kLongestWhere = 4096;

template <typename Device>
void add_addresses(Names& names, const std::vector<Device>& devices, DeviceKind kind) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].pci.address)
      names.emplace(to_string(*devices[i].pci.address), DeviceId{kind, static_cast<int>(i)});
  }
}

Names names_of(const Machine& machine) {
  Names names;
  add_addresses(names, machine.gpus, DeviceKind::gpu);
  add_addresses(names, machine.nics, DeviceKind::nic);
  add_addresses(names, machine.switches, DeviceKind::pcie_switch);
  add_addresses(names, machine.nvswitches, DeviceKind::nvswitch);
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    const DeviceId id{DeviceKind::nic, static_cast<int>(i)};
    if (!nic.name.empty()) names.emplace(nic.name, id);
    if (!nic.netdev.empty() && nic.netdev != nic.name) names.emplace(nic.netdev, id);
  }
  return names;
}

// The words of `text` between any of `breaks`, without the dots and colons they end in.
std::vector<std::string_view> words(std::string_view text, std::string_view breaks) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(breaks), text.size());
    std::string_view word = text.substr(0, end);
    while (word.ends_with('.') || word.ends_with(':')) word.remove_suffix(1);
    if (!word.empty()) found.push_back(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

bool there(const Machine& machine, DeviceId id) {
  return id.kind == DeviceKind::numa ? find_numa(machine, id.index) != nullptr
                                     : has_device(machine, id);
}

}  // namespace

std::map<DeviceId, std::vector<std::size_t>> marks_of(const Machine& machine) {
  const Names names = names_of(machine);
  std::map<DeviceId, std::vector<std::size_t>> marks;
  for (std::size_t i = 0; i < machine.findings.size(); ++i) {
    const Finding& finding = machine.findings[i];
    if (finding.severity == Severity::info) continue;
    const auto mark = [&](DeviceId id) {
      std::vector<std::size_t>& of_device = marks[id];
      if (of_device.empty() || of_device.back() != i) of_device.push_back(i);
    };
    const std::string_view where = std::string_view(finding.where).substr(0, kLongestWhere);
    for (const std::string_view word : words(where, " \t\r\n,;()[]<>\"'=")) {
      const auto [first, last] = names.equal_range(word);
      for (auto name = first; name != last; ++name) mark(name->second);
    }
    // "GPU3-GPU4", "GPU3:NVLink 7".
    for (const std::string_view word : words(where, " \t\r\n,;()[]<>\"'=-/:.|&")) {
      const auto id = parse_device_id(word);
      if (id && there(machine, *id)) mark(*id);
    }
  }
  return marks;
}

}  // namespace lockstep::topology
