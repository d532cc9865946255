#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "topology/probe/values.h"
#include "topology/readers/hwloc_parts.h"

namespace lockstep::topology {
namespace {

// "0302 [10de:1db8] [10de:131d] a1 00": class, device, subsystem, revision.
void read_type(std::string_view text, PciDevice& pci) {
  if (const auto upper = parse_hex(text.substr(0, text.find(' ')))) pci.class_code = *upper << 8;
  const auto pair = [&text](std::optional<std::uint32_t>& vendor,
                            std::optional<std::uint32_t>& device) {
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return;
    const std::string_view both = text.substr(open + 1, close - open - 1);
    const std::size_t colon = both.find(':');
    if (colon == std::string_view::npos) return;
    vendor = parse_hex(both.substr(0, colon));
    device = parse_hex(both.substr(colon + 1));
    // All zeros: hwloc could not read them.
    if (vendor == 0U && device == 0U) vendor = device = std::nullopt;
    text.remove_prefix(close + 1);
  };
  pair(pci.vendor, pci.device);
  pair(pci.subsystem_vendor, pci.subsystem_device);
}

// hwloc gives a link's bandwidth in GB/s, which several pairs of speed and width have (15.75 is x16
// of generation 3 and x8 of 4): these are not told apart. NCCL's count is the same for all of them,
// but for 2.5 and 5 GT/s, whose pairs agree among themselves.
std::optional<double> nccl_bandwidth(double GBps) {
  struct Generation {
    double GTps, lane;  // GB/s of a lane
  };
  constexpr std::array<Generation, 5> kGenerations{{{8, 8.0 * 128 / 130 / 8},
                                                    {16, 16.0 * 128 / 130 / 8},
                                                    {32, 32.0 * 128 / 130 / 8},
                                                    {2.5, 2.5 * 0.8 / 8},
                                                    {64, 64.0 * 242 / 256 / 8}}};
  constexpr double kTolerance = 0.01;
  for (const Generation& generation : kGenerations) {
    const double width = GBps / generation.lane;
    const double whole = std::round(width);
    if (whole < 1 || whole > 64 || std::abs(width - whole) > kTolerance) continue;
    // NCCL: width x speed / 80, speed in its own count of 15 for 2.5 GT/s (graph/xml.cc).
    constexpr double kCountOf8 = 60;
    const double speed = generation.GTps < 8 ? 15 : kCountOf8 * generation.GTps / 8;
    return whole * speed / 80;
  }
  return std::nullopt;
}

bool has_address(const HwlocObject& object) {
  return object.address.has_value();
}

bool is_no_io(const HwlocObject& object) {
  return !object.is_io();
}

std::optional<int> only_of(const std::optional<CpuSet>& set) {
  if (!set || set->count() != 1) return std::nullopt;
  return set->cpus().front();
}

constexpr std::size_t kMostFunctions = 65536;
constexpr std::size_t kMostRanges = 1024;

// Version 3 states the CPUs near a range of buses apart from the tree.
struct Locality {
  std::uint32_t domain = 0, first = 0, last = 0;
  std::optional<CpuSet> cpus;
};

std::vector<Locality> stated_localities(const HwlocFile& file) {
  std::vector<Locality> stated;
  for (const pugi::xml_node each : file.topology().children("pci_locality")) {
    const auto domain = parse_hex(each.attribute("domain").value());
    const auto first = parse_hex(each.attribute("bus_min").value());
    const auto last = parse_hex(each.attribute("bus_max").value());
    if (domain && first && last && stated.size() < kMostRanges)
      stated.push_back({*domain, *first, *last, parse_hwloc_set(each.attribute("cpuset").value())});
  }
  return stated;
}

}  // namespace

PciTree read_hwloc_pci(const HwlocFile& file, const Machine& machine) {
  PciTree tree;
  const std::vector<Locality> stated = stated_localities(file);
  for (std::size_t i = 0; i < file.objects().size(); ++i) {
    const HwlocObject& object = file.objects()[i];
    if (!object.address || tree.size() >= kMostFunctions) continue;
    PciFunction function;
    function.pci.address = object.address;
    read_type(object.attribute("pci_type"), function.pci);
    function.name = object.info("PCIDevice");
    const std::string_view speed = object.attribute("pci_link_speed");
    if (const auto GBps = leading_number(speed); GBps && *GBps > 0) {
      function.pci.link.as_written = speed;
      function.GBps = nccl_bandwidth(*GBps);
    }
    const int index = static_cast<int>(i);
    const int parent = file.above(index, has_address);
    if (parent != HwlocObject::kNone)
      function.parent = file.objects()[static_cast<std::size_t>(parent)].address;
    const int around = file.above(index, is_no_io);
    if (around != HwlocObject::kNone) {
      const HwlocObject& place = file.objects()[static_cast<std::size_t>(around)];
      function.numa = only_of(place.set("nodeset"));
      function.cpus = place.set("cpuset");
    }
    if (!function.numa || find_numa(machine, *function.numa) == nullptr) {
      const PciAddress at = *object.address;
      const auto range = std::ranges::find_if(stated, [at](const Locality& each) {
        return each.domain == at.domain && each.first <= at.bus && at.bus <= each.last;
      });
      if (range != stated.end() && range->cpus) function.cpus = range->cpus;
    }
    // A file put together of several may have an address twice: what is asked for wins.
    const bool wanted = is_network(function.pci) || is_gpu(function.pci);
    if (wanted)
      tree.insert_or_assign(*object.address, std::move(function));
    else
      tree.emplace(*object.address, std::move(function));
  }
  return tree;
}

}  // namespace lockstep::topology
