#include "topology/readers/ibstatus.h"

#include <optional>

#include "topology/readers/lines.h"
#include "topology/readers/port_list.h"
#include "topology/readers/port_words.h"

namespace lockstep::topology {
namespace {

struct Heading {
  std::string_view device, port;
};

// "Infiniband device 'mlx5_0' port 1 status:"; the word is "Infiniband" for Ethernet links too.
std::optional<Heading> heading_of(std::string_view line) {
  const auto rest = after(line, "Infiniband device '");
  if (!rest) return std::nullopt;
  const std::size_t quote = rest->find('\'');
  if (quote == std::string_view::npos) return std::nullopt;
  const std::string_view device = rest->substr(0, quote);
  const auto port = after(rest->substr(quote), "' port ");
  if (!port || !is_device_name(device)) return std::nullopt;
  return Heading{device, port->substr(0, port->find(' '))};
}

void describe_port(Nic& port, Attribute attribute, Notes& notes, int line) {
  const auto [key, value] = attribute;
  if (key == "state") {
    set_state(port, value, notes, line);
  } else if (key == "phys state") {
    port.physical_state = physical_state(value);
  } else if (key == "rate") {
    port.rate_Gbps = rate_Gbps(value);
  } else if (key == "link_layer") {
    port.kind = kind_of_link_layer(value);
  }
}

}  // namespace

bool is_ibstatus(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    if (heading_of(trimmed(lines.text()))) return true;
  }
  return false;
}

Reading read_ibstatus(const Recording& recording) {
  Reading reading;
  Notes notes(recording.name);
  DeviceWalk walk(notes);
  for (Lines lines(recording.text); lines.next();) {
    const std::string_view line = trimmed(lines.text());
    if (const auto heading = heading_of(line)) {
      walk.begin_device(heading->device, lines.number());
      walk.begin_port(heading->port, lines.number());
    } else if (const auto attribute = parse_attribute(line); attribute && walk.in_device()) {
      describe_port(walk.current(), *attribute, notes, lines.number());
    }
  }
  reading.machine.sources = {"ibstatus"};
  reading.machine.nics = walk.take();
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
