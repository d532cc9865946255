#include "topology/readers/rdma_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "topology/interface_kind.h"
#include "topology/readers/lines.h"
#include "topology/readers/port_list.h"
#include "topology/readers/port_words.h"

namespace lockstep::topology {
namespace {

// A parsed document takes a multiple of its text; that of PortList::kMaxPorts ports is smaller.
constexpr std::size_t kMaxJson = std::size_t{2} << 20;

struct Link {
  std::string device;
  int port = 0;  // 0: a device's own line, as of switches
  std::string state, physical_state, netdev;
  bool infiniband = false;
};

// "mlx5_0/1"; before iproute2 5.0 with a colon behind it.
bool set_place(Link& link, std::string_view text) {
  if (text.ends_with(':')) text.remove_suffix(1);
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || !is_device_name(text.substr(0, slash))) return false;
  const auto port = parse_number<int>(text.substr(slash + 1));
  if (!port || *port < 0 || *port > 254) return false;
  link.device = text.substr(0, slash);
  link.port = *port;
  return true;
}

// "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1"; of old "1/1: mlx5_0/1: state
// ...".
std::optional<Link> link_of(std::string_view line) {
  const auto cells = words(line);
  if (cells.size() < 4) return std::nullopt;
  const bool old = cells[0].ends_with(':') && cells[0].find('/') != std::string_view::npos;
  Link link;
  if ((cells[0] != "link" && !old) || !set_place(link, cells[1])) return std::nullopt;
  for (std::size_t i = 2; i + 1 < cells.size(); i += 2) {
    const std::string_view key = cells[i];
    const std::string_view value = cells[i + 1];
    if (key == "state") link.state = value;
    if (key == "physical_state") link.physical_state = value;
    if (key == "netdev" && is_device_name(value)) link.netdev = value;
    if (key == "subnet_prefix" || key == "sm_lid") link.infiniband = true;
  }
  return link.state.empty() ? std::nullopt : std::optional(std::move(link));
}

void add(PortList& ports, const Link& link, Notes& notes, int line) {
  Nic device;
  device.name = link.device;
  if (link.port == 0 || ports.contains(link.device, link.port)) return;
  Nic& port = ports.at(device, link.port);
  set_state(port, link.state, notes, line);
  port.physical_state = physical_state(link.physical_state);
  port.netdev = link.netdev;
  const InterfaceKind interface = kind_of_interface_name(link.netdev);
  if (link.infiniband || interface == InterfaceKind::infiniband) {
    port.kind = NicKind::infiniband;
  } else if (interface == InterfaceKind::physical || interface == InterfaceKind::bond) {
    port.kind = NicKind::roce;
  }
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[' &&
         text.find("\"ifname\"") != std::string_view::npos &&
         text.find("\"physical_state\"") != std::string_view::npos;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void read_json(const Recording& recording, PortList& ports, Notes& notes) {
  if (recording.text.size() > kMaxJson) {
    throw ReadError(
        recording.name, 0,
        fmt::format("expected at most {} bytes of `rdma link -j`, found {}: no host has "
                    "as many ports; record it again",
                    kMaxJson, recording.text.size()));
  }
  const auto parsed = nlohmann::json::parse(recording.text, nullptr, false);
  if (!parsed.is_array()) {
    throw ReadError(
        recording.name, 0,
        "expected the JSON list of `rdma link -j`, found a text that is cut or damaged; "
        "record it again");
  }
  for (const auto& object : parsed) {
    if (!object.is_object()) continue;
    Link link;
    link.device = text_of(object, "ifname");
    const auto port = object.find("port");
    if (port != object.end() && port->is_number_integer())
      link.port = static_cast<int>(std::clamp<std::int64_t>(port->get<std::int64_t>(), 0, 255));
    link.state = text_of(object, "state");
    link.physical_state = text_of(object, "physical_state");
    link.netdev = text_of(object, "netdev");
    link.infiniband = object.contains("subnet_prefix") || object.contains("sm_lid");
    if (!is_device_name(link.device)) continue;
    if (!is_device_name(link.netdev)) link.netdev.clear();
    add(ports, link, notes, 0);
  }
}

}  // namespace

bool is_rdma_link(std::string_view text) {
  if (is_json(text)) return true;
  for (Lines lines(text); lines.next();) {
    if (link_of(lines.text())) return true;
  }
  return false;
}

Reading read_rdma_link(const Recording& recording) {
  Reading reading;
  Notes notes(recording.name);
  PortList ports;
  if (is_json(recording.text)) {
    read_json(recording, ports, notes);
  } else {
    for (Lines lines(recording.text); lines.next();) {
      if (const auto link = link_of(lines.text())) add(ports, *link, notes, lines.number());
    }
  }
  reading.machine.sources = {"rdma-link"};
  reading.machine.nics = ports.take(notes);
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
