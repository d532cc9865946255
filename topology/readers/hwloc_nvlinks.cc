#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "topology/probe/values.h"
#include "topology/readers/hwloc_parts.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMostObjects = 1024;  // of a matrix

// The GPU or NVSwitch at an address.
std::optional<DeviceId> device_at(const Machine& machine, PciAddress address) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    if (machine.gpus[i].pci.address == address)
      return DeviceId{DeviceKind::gpu, static_cast<int>(i)};
  }
  for (std::size_t i = 0; i < machine.nvswitches.size(); ++i) {
    if (machine.nvswitches[i].pci.address == address)
      return DeviceId{DeviceKind::nvswitch, static_cast<int>(i)};
  }
  return std::nullopt;
}

// The PCI address of every object that lies in a PCI device, by its gp_index.
std::map<std::string_view, PciAddress> addresses_by_index(const HwlocFile& file) {
  std::map<std::string_view, PciAddress> found;
  for (std::size_t i = 0; i < file.objects().size(); ++i) {
    const HwlocObject& object = file.objects()[i];
    const std::string_view index = object.attribute("gp_index");
    if (index.empty() || !object.is_io()) continue;
    auto address = object.address;
    const int above =
        file.above(static_cast<int>(i), [](const HwlocObject& o) { return o.address.has_value(); });
    if (!address && above != HwlocObject::kNone)
      address = file.objects()[static_cast<std::size_t>(above)].address;
    if (address) found.emplace(index, *address);
  }
  return found;
}

// The words of all children of one name.
std::vector<std::string_view> words_of(pugi::xml_node matrix, const char* child, std::size_t most) {
  std::vector<std::string_view> words;
  for (const pugi::xml_node each : matrix.children(child)) {
    std::string_view text = each.child_value();
    constexpr std::string_view kBlanks = " \t\r\n";
    while (words.size() <= most) {
      const std::size_t begin = text.find_first_not_of(kBlanks);
      if (begin == std::string_view::npos) break;
      const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
      words.push_back(text.substr(begin, end - begin));
      text.remove_prefix(end);
    }
  }
  return words;
}

// MB/s of one link in one direction, as hwloc counts it by NVLink's generation.
double link_MBps(const Machine& machine, DeviceId gpu) {
  const int sm = machine.gpus[static_cast<std::size_t>(gpu.index)].sm.value_or(70);
  if (sm < 70) return 20000;
  return sm >= 100 ? 50000 : 25000;
}

void add_link(Machine& machine, DeviceId a, DeviceId b, double MBps, LinkKind kind) {
  if (a.kind != DeviceKind::gpu) std::swap(a, b);
  if (a.kind != DeviceKind::gpu || a == b) return;
  Link link{.from = a, .to = b, .kind = kind, .count = 1, .GBps = MBps / 1000};
  if (kind == LinkKind::nvlink) {
    link.count = std::max(1, static_cast<int>(std::lround(MBps / link_MBps(machine, a))));
    // NCCL's own figure follows from the capability, where that is known.
    if (machine.gpus[static_cast<std::size_t>(a.index)].sm) link.GBps.reset();
  }
  machine.links.push_back(link);
}

void report_damage(Machine& machine, std::string_view name) {
  machine.findings.push_back(
      {.severity = Severity::warning,
       .code = "damaged-recording",
       .message = "hwloc's matrix \"" + std::string(name) +
                  "\" has not one value for each pair of its objects; its links were left out",
       .where = std::string(name),
       .remedy = "record the machine again with lstopo"});
}

void read_matrix(pugi::xml_node matrix, const std::map<std::string_view, PciAddress>& addresses,
                 LinkKind kind, Machine& machine) {
  const auto names = words_of(matrix, "indexes", kMostObjects);
  const std::size_t n = names.size();
  const auto values = words_of(matrix, "u64values", n * n);
  if (n > kMostObjects || values.size() != n * n) {
    report_damage(machine, matrix.attribute("name").value());
    return;
  }
  std::vector<std::optional<DeviceId>> devices;
  for (std::string_view name : names) {
    const std::size_t colon = name.find(':');
    if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
    const auto found = addresses.find(name);
    devices.push_back(found == addresses.end() ? std::nullopt : device_at(machine, found->second));
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double there = leading_number(values[i * n + j]).value_or(0);
      const double back = leading_number(values[j * n + i]).value_or(0);
      const double MBps = std::max(there, back);
      if (devices[i] && devices[j] && MBps > 0 && MBps < 1e9)
        add_link(machine, *devices[i], *devices[j], MBps, kind);
    }
  }
}

}  // namespace

void read_hwloc_nvlinks(const HwlocFile& file, Machine& machine) {
  const auto addresses = addresses_by_index(file);
  for (const char* const element : {"distances2", "distances2hetero"}) {
    for (const pugi::xml_node matrix : file.topology().children(element)) {
      const std::string_view name = matrix.attribute("name").value();
      if (name == "NVLinkBandwidth") read_matrix(matrix, addresses, LinkKind::nvlink, machine);
      if (name == "XGMIBandwidth") read_matrix(matrix, addresses, LinkKind::xgmi, machine);
    }
  }
}

}  // namespace lockstep::topology
