#include "topology/broadcom_switches.h"

#include <cstdint>
#include <iterator>

namespace lockstep::topology {
namespace {

constexpr std::uint32_t kBroadcom = 0x1000;  // as vendor and as subsystem's vendor
constexpr std::uint32_t kGen4 = 0xc010;
constexpr std::uint32_t kGen5 = 0xc030;

enum class Level { outer, inner };

// 4 or 5, or 0 for what is no such switch of that level. Gen4 chips do not tell their levels apart.
int generation(const PciDevice& pci, Level level) {
  if (pci.vendor != kBroadcom || pci.subsystem_vendor != kBroadcom || !pci.device ||
      !pci.subsystem_device)
    return 0;
  const std::uint32_t part = *pci.subsystem_device >> 12;
  if (*pci.device == kGen4 && part == 0xa) return 4;
  if (*pci.device == kGen5 && part == (level == Level::outer ? 0U : 1U)) return 5;
  return 0;
}

}  // namespace

std::vector<std::optional<int>> broadcom_insides(const Machine& machine) {
  const auto count = static_cast<int>(machine.switches.size());
  std::vector<std::optional<int>> above(machine.switches.size());
  for (const Link& link : machine.links) {
    const bool between_switches = link.kind == LinkKind::pcie &&
                                  link.from.kind == DeviceKind::pcie_switch &&
                                  link.to.kind == DeviceKind::pcie_switch;
    if (!between_switches || link.from.index < 0 || link.from.index >= count) continue;
    if (link.to.index < 0 || link.to.index >= count || link.to == link.from) continue;
    auto& known = above[static_cast<std::size_t>(link.from.index)];
    if (!known) known = link.to.index;
  }
  const auto is_below_its_kind = [&](int lower) {
    const auto upper = above[static_cast<std::size_t>(lower)];
    if (!upper) return false;
    const int own = generation(machine.switches[static_cast<std::size_t>(lower)].pci, Level::inner);
    return own != 0 &&
           own == generation(machine.switches[static_cast<std::size_t>(*upper)].pci, Level::outer);
  };
  // Gen4 switches do not say whether they are inner: of several in a row the first is outer, the
  // second inner, and the third, which NCCL leaves alone, outer again.
  enum class Place : char { unknown, outer, inner };
  std::vector<Place> places(machine.switches.size(), Place::unknown);
  std::vector<std::optional<int>> inside(machine.switches.size());
  for (int i = 0; i < count; ++i) {
    std::vector<int> row{i};  // from the switch up
    while (places[static_cast<std::size_t>(row.back())] == Place::unknown &&
           is_below_its_kind(row.back()) && static_cast<int>(row.size()) <= count)
      row.push_back(*above[static_cast<std::size_t>(row.back())]);
    for (auto each = row.rbegin(); each != row.rend(); ++each) {
      Place& place = places[static_cast<std::size_t>(*each)];
      if (place != Place::unknown) continue;
      const auto upper = each == row.rbegin() ? std::nullopt : std::optional(*std::prev(each));
      const bool inner = upper && places[static_cast<std::size_t>(*upper)] == Place::outer;
      place = inner ? Place::inner : Place::outer;
      if (inner) inside[static_cast<std::size_t>(*each)] = upper;
    }
  }
  return inside;
}

}  // namespace lockstep::topology
