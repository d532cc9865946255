#include "topology/readers/show_gids.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/gid_address.h"
#include "topology/gid_choice.h"
#include "topology/readers/lines.h"
#include "topology/readers/port_list.h"
#include "topology/readers/port_words.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kColumnsBeforeVersion = 4;

struct GidRow {
  std::string_view device;
  int port = 0, index = 0;
  GidAddress address;
  std::string_view version, netdev;  // empty where the row is cut
};

bool is_header(std::span<const std::string_view> cells) {
  return cells.size() >= 4 && cells[0] == "DEV" && cells[1] == "PORT" && cells[2] == "INDEX" &&
         cells[3] == "GID";
}

// The column of IPv4 addresses is blank where there is none: the version is known by its form.
bool is_version(std::string_view cell) {
  return cell == "v1" || cell == "v2";
}

std::optional<GidRow> row_of(std::span<const std::string_view> cells) {
  if (cells.size() < kColumnsBeforeVersion || !is_device_name(cells[0])) return std::nullopt;
  const auto port = parse_number<int>(cells[1]);
  const auto index = parse_number<int>(cells[2]);
  const auto address = parse_gid_address(cells[3]);
  if (!port || *port < 1 || *port > 254 || !index || *index < 0 || *index > kMaxGidIndex ||
      !address)
    return std::nullopt;
  GidRow row{.device = cells[0],
             .port = *port,
             .index = *index,
             .address = *address,
             .version = "",
             .netdev = ""};
  const auto rest = cells.subspan(kColumnsBeforeVersion);
  const auto version = std::ranges::find_if(rest, is_version);
  if (version == rest.end()) return row;
  row.version = *version;
  if (version + 1 != rest.end() && is_device_name(version[1])) row.netdev = version[1];
  return row;
}

// What no row can be read from but should be one: prompts and counts have no number there.
bool looks_like_row(std::span<const std::string_view> cells) {
  return cells.size() > 2 && (parse_number<int>(cells[1]) || parse_number<int>(cells[2]));
}

Finding damaged_table(std::string message) {
  return {.severity = Severity::warning,
          .code = "damaged-recording",
          .message = std::move(message),
          .where = "",
          .remedy = "record all of `show_gids` again"};
}

// Of an InfiniBand port the tool prints "v1" as well, but no interface and never "v2".
void conclude(Nic& port) {
  const bool roce = std::ranges::any_of(
      port.gids, [](const Gid& gid) { return gid.type == "RoCE v2" || !gid.netdev.empty(); });
  if (roce) {
    port.kind = NicKind::roce;
  } else {
    for (Gid& gid : port.gids) gid.type.clear();
  }
  port.netdev = own_interface(port);
}

}  // namespace

bool is_show_gids(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    const auto cells = words(lines.text());
    if (is_header(cells)) return true;
    const auto row = row_of(cells);
    if (row && !row->version.empty()) return true;
  }
  return false;
}

Reading read_show_gids(const Recording& recording) {
  Reading reading;
  Notes notes(recording.name);
  PortList ports;
  for (Lines lines(recording.text); lines.next();) {
    const auto cells = words(lines.text());
    const auto row = row_of(cells);
    if (row ? row->version.empty() : looks_like_row(cells)) {
      notes.add(damaged_table(fmt::format("no row of a GID table, or a cut one: \"{}\"",
                                          plain(lines.text()))),
                lines.number());
    }
    if (!row) continue;
    Nic device;
    device.name = row->device;
    const std::string type = row->version.empty() ? "" : fmt::format("RoCE {}", row->version);
    (void)add_gid(ports.at(device, row->port), {.index = row->index,
                                                .address = to_string(row->address),
                                                .type = type,
                                                .netdev = std::string(row->netdev)});
  }
  reading.machine.sources = {"show_gids"};
  reading.machine.nics = ports.take(notes);
  for (Nic& port : reading.machine.nics) conclude(port);
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
