#include "topology/readers/ip_brief.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "topology/interface_kind.h"
#include "topology/readers/lines.h"
#include "topology/readers/notes.h"
#include "topology/readers/port_words.h"

namespace lockstep::topology {
namespace {

// A node of Kubernetes has one for each of its pods; more than this is damage.
constexpr std::size_t kMaxInterfaces = 16384;
constexpr std::size_t kInfinibandAddress = 20 * 3 - 1;  // 20 bytes as "xx:xx:...:xx"

constexpr std::array<std::string_view, 7> kOperationalStates{
    "UP", "DOWN", "UNKNOWN", "LOWERLAYERDOWN", "DORMANT", "NOTPRESENT", "TESTING"};

// "10.0.91.59/31", "fe80::1/64", and without a length where `ip` prints the peer's behind it.
bool is_address(std::string_view cell) {
  return std::ranges::all_of(cell,
                             [](char c) {
                               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
                                      c == '.' || c == ':' || c == '/' || c == '%';
                             }) &&
         cell.find_first_of(".:") != std::string_view::npos;
}

std::optional<std::string_view> flags_of(std::string_view cell) {
  if (cell.size() < 2 || !cell.starts_with('<') || !cell.ends_with('>')) return std::nullopt;
  return cell.substr(1, cell.size() - 2);
}

bool has_flag(std::string_view flags, std::string_view flag) {
  while (!flags.empty()) {
    const std::size_t comma = flags.find(',');
    if (flags.substr(0, comma) == flag) return true;
    flags.remove_prefix(comma == std::string_view::npos ? flags.size() : comma + 1);
  }
  return false;
}

// What the system itself says of its kind, which wins over the name.
InterfaceKind kind_of_flags(std::string_view flags, std::string_view hardware_address) {
  if (has_flag(flags, "LOOPBACK")) return InterfaceKind::loopback;
  if (has_flag(flags, "MASTER")) return InterfaceKind::bond;
  if (has_flag(flags, "POINTOPOINT")) return InterfaceKind::tunnel;
  if (hardware_address.size() == kInfinibandAddress) return InterfaceKind::infiniband;
  return InterfaceKind::unknown;
}

// The kernel runs an interface whose driver reports no state ("UNKNOWN": loopback, tunnels).
std::optional<bool> is_up(std::string_view state) {
  if (state == "UP" || state == "UNKNOWN") return true;
  if (state == "TESTING") return std::nullopt;
  return false;
}

void describe_link(Interface& interface, std::span<const std::string_view> cells,
                   std::string_view flags) {
  const InterfaceKind kind = kind_of_flags(flags, cells.front());
  if (kind != InterfaceKind::unknown) interface.kind = kind;
  interface.up = has_flag(flags, "UP") && has_flag(flags, "LOWER_UP");
}

void add_addresses(Interface& interface, std::span<const std::string_view> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    // "metric 100": of the route. "peer 10.0.0.2/32": the other end's address, not ours.
    if (cells[i] == "metric" || cells[i] == "peer") {
      ++i;
    } else if (is_address(cells[i])) {
      interface.addresses.push_back(plain(cells[i]));
    }
  }
}

std::optional<Interface> interface_of(std::string_view line) {
  const std::vector<std::string_view> cells = words(line);
  if (cells.size() < 2 || !is_device_name(cells[0]) ||
      std::ranges::find(kOperationalStates, cells[1]) == kOperationalStates.end())
    return std::nullopt;
  const auto rest = std::span(cells).subspan(2);
  const auto flags = rest.empty() ? std::nullopt : flags_of(rest.back());
  if (!flags && !rest.empty() && !is_address(rest.front())) return std::nullopt;
  Interface interface;
  interface.name = cells[0].substr(0, cells[0].find('@'));
  if (interface.name.empty()) return std::nullopt;
  interface.kind = kind_of_interface_name(cells[0]);
  interface.up = is_up(cells[1]);
  if (flags) {
    describe_link(interface, rest, *flags);
  } else {
    add_addresses(interface, rest);
  }
  return interface;
}

Finding damaged(std::string message) {
  return {.severity = Severity::warning,
          .code = "damaged-recording",
          .message = std::move(message),
          .where = "",
          .remedy = "record it again"};
}

}  // namespace

bool is_ip_brief(std::string_view text) {
  std::size_t fitting = 0;
  std::size_t others = 0;
  for (Lines lines(text); lines.next();) {
    const std::string plain_line = without_escapes(lines.text());
    if (trimmed(plain_line).empty()) continue;
    ++(interface_of(plain_line) ? fitting : others);
  }
  return fitting > 0 && fitting >= others;
}

Reading read_ip_brief(const Recording& recording) {
  Reading reading;
  Notes notes(recording.name);
  std::unordered_set<std::string> seen;
  for (Lines lines(recording.text); lines.next();) {
    const std::string line = without_escapes(lines.text());
    auto interface = interface_of(line);
    if (!interface) {
      // A prompt or greeting above the list is no damage.
      if (!seen.empty() && words(line).size() > 1) {
        notes.add(damaged(fmt::format("expected \"INTERFACE STATE ADDRESSES\", found \"{}\"",
                                      plain(line))),
                  lines.number());
      }
    } else if (seen.size() == kMaxInterfaces) {
      notes.add(
          damaged(fmt::format("more than {} interfaces; the rest is left out", kMaxInterfaces)),
          lines.number());
      break;
    } else if (seen.insert(interface->name).second) {
      reading.machine.interfaces.push_back(*std::move(interface));
    }
  }
  reading.machine.sources = {"ip-brief"};
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
