#include "topology/readers/ibdev2netdev.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "topology/interface_kind.h"
#include "topology/readers/lines.h"
#include "topology/readers/port_list.h"
#include "topology/readers/port_words.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kArrow = "==>";

struct Row {
  std::string_view device;
  int port = 0;
  std::optional<PciAddress> address;
  std::string_view board, port_state;  // of -v
  std::string_view netdev;
  std::optional<bool> up;
};

// "MT4129" of "(MT4129".
std::string_view without_parenthesis(std::string_view word) {
  if (word.starts_with('(')) word.remove_prefix(1);
  if (word.ends_with(')')) word.remove_suffix(1);
  return word;
}

// "mlx5_0 port 1", or "0000:19:00.0 mlx5_0 (MT4129 - MCX755) ConnectX-7 ... port 1 (ACTIVE)".
std::optional<Row> device_part(std::string_view text) {
  const auto cells = words(text);
  const auto last_port = std::ranges::find(cells.rbegin(), cells.rend(), "port");
  if (last_port == cells.rend() || last_port == cells.rbegin()) return std::nullopt;
  const auto number = last_port.base();  // the cell behind "port"
  Row row;
  auto cell = cells.begin();
  row.address = parse_pci_address(*cell);
  if (row.address) ++cell;
  const auto port = parse_number<int>(*number);
  if (cell >= number - 1 || !is_device_name(*cell) || !port || *port < 1 || *port > 254)
    return std::nullopt;
  row.device = *cell++;
  row.port = *port;
  if (row.address && cell < number - 1) row.board = without_parenthesis(*cell);
  if (number + 1 != cells.end()) row.port_state = without_parenthesis(number[1]);
  return row;
}

std::optional<Row> row_of(std::string_view line) {
  const std::size_t arrow = line.find(kArrow);
  if (arrow == std::string_view::npos) return std::nullopt;
  auto row = device_part(line.substr(0, arrow));
  if (!row) return std::nullopt;
  for (const std::string_view cell : words(line.substr(arrow + kArrow.size()))) {
    if (cell == "(Up)" || cell == "(Down)") {
      row->up = cell == "(Up)";
    } else if (row->netdev.empty() && is_device_name(cell)) {
      row->netdev = cell;
    }
  }
  return row;
}

// An adapter's kind follows from the interface's where its name tells that it is Ethernet or IP
// over InfiniBand.
NicKind kind_of(InterfaceKind interface) {
  switch (interface) {
    case InterfaceKind::infiniband:
      return NicKind::infiniband;
    case InterfaceKind::physical:
    case InterfaceKind::bond:
    case InterfaceKind::vlan:
      return NicKind::roce;
    default:
      return NicKind::unknown;
  }
}

void describe(Nic& port, const Row& row, Notes& notes, int line) {
  port.netdev = row.netdev;
  port.kind = kind_of(kind_of_interface_name(row.netdev));
  port.pci.address = row.address;
  if (!row.board.empty()) set_board(port, row.board);
  if (!row.port_state.empty()) {
    set_state(port, row.port_state, notes, line);
  } else if (row.up && (*row.up || port.kind != NicKind::infiniband)) {
    port.state = *row.up ? NicState::active : NicState::down;
  }
}

}  // namespace

bool is_ibdev2netdev(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    if (row_of(lines.text())) return true;
  }
  return false;
}

Reading read_ibdev2netdev(const Recording& recording) {
  Reading reading;
  Notes notes(recording.name);
  PortList ports;
  std::unordered_set<std::string> seen;
  for (Lines lines(recording.text); lines.next();) {
    const auto row = row_of(lines.text());
    if (!row) {
      if (lines.text().find(kArrow) == std::string_view::npos) continue;
      notes.add({.severity = Severity::warning,
                 .code = "damaged-recording",
                 .message = fmt::format("expected \"DEVICE port N ==> INTERFACE (Up|Down)\", found "
                                        "\"{}\"",
                                        plain(lines.text())),
                 .where = "",
                 .remedy = "record it again"},
                lines.number());
      continue;
    }
    Nic device;
    device.name = row->device;
    if (ports.contains(row->device, row->port)) continue;
    describe(ports.at(device, row->port), *row, notes, lines.number());
    if (row->netdev.empty() || seen.size() == PortList::kMaxPorts ||
        !seen.emplace(row->netdev).second)
      continue;
    Interface interface;
    interface.name = row->netdev;
    interface.kind = kind_of_interface_name(row->netdev);
    interface.up = row->up;
    reading.machine.interfaces.push_back(std::move(interface));
  }
  reading.machine.sources = {"ibdev2netdev"};
  reading.machine.nics = ports.take(notes);
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
