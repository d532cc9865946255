#include "topology/readers/ibstat.h"

#include <fmt/format.h>

#include <optional>

#include "topology/readers/lines.h"
#include "topology/readers/port_list.h"
#include "topology/readers/port_words.h"

namespace lockstep::topology {
namespace {

// "mlx5_0" of "CA 'mlx5_0'"; with arguments ibstat prints a colon as well.
std::optional<std::string_view> device_of(std::string_view line) {
  auto rest = after(line, "CA ");
  if (!rest) rest = after(line, "CA: ");
  if (!rest || rest->size() < 3 || rest->front() != '\'' || rest->back() != '\'')
    return std::nullopt;
  const std::string_view name = rest->substr(1, rest->size() - 2);
  return is_device_name(name) ? std::optional(name) : std::nullopt;
}

bool is_panic(std::string_view line) {
  return line.starts_with("ibpanic:");
}

Finding panic(std::string_view line) {
  return {.severity = Severity::error,
          .code = "tool-failed",
          .message = fmt::format("ibstat died, and devices may be missing: \"{}\"", plain(line)),
          .where = "",
          .remedy =
              "look whether the device it names is still on the bus (lspci, dmesg); reset the "
              "adapter or reload its driver"};
}

void describe(Nic& nic, Attribute attribute, Notes& notes, int line) {
  const auto [key, value] = attribute;
  if (key == "CA type") {
    set_board(nic, value);
  } else if (key == "Node GUID") {
    nic.guid = plain(value);
  } else if (key == "State") {
    set_state(nic, value, notes, line);
  } else if (key == "Physical state") {
    nic.physical_state = physical_state(value);
  } else if (key == "Rate") {
    nic.rate_Gbps = rate_Gbps(value);
  } else if (key == "Link layer") {
    nic.kind = kind_of_link_layer(value);
  }
}

}  // namespace

bool is_ibstat(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    const std::string_view line = trimmed(lines.text());
    if (is_panic(line) || device_of(line)) return true;
  }
  return false;
}

Reading read_ibstat(const Recording& recording) {
  Reading reading;
  Notes notes(recording.name);
  DeviceWalk walk(notes);
  for (Lines lines(recording.text); lines.next();) {
    const std::string_view line = trimmed(lines.text());
    if (is_panic(line)) {
      notes.add(panic(line), lines.number());
    } else if (const auto device = device_of(line)) {
      walk.begin_device(*device, lines.number());
    } else if (const auto attribute = parse_attribute(line); attribute && walk.in_device()) {
      const auto port = after(attribute->key, "Port ");
      if (port && attribute->value.empty()) {
        walk.begin_port(*port, lines.number());
      } else if (attribute->key == "Number of ports") {
        walk.announce(attribute->value);
      } else {
        describe(walk.current(), *attribute, notes, lines.number());
      }
    }
  }
  reading.machine.sources = {"ibstat"};
  reading.machine.nics = walk.take();
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
