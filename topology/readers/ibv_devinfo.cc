#include "topology/readers/ibv_devinfo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "topology/gid_address.h"
#include "topology/pci_vendors.h"
#include "topology/readers/lines.h"
#include "topology/readers/port_list.h"
#include "topology/readers/port_words.h"

namespace lockstep::topology {
namespace {

// Verbs name NVIDIA's adapters by the vendor's Ethernet prefix, Amazon's by its PCI number.
constexpr std::uint32_t kMellanoxPrefix = 0x02c9;
constexpr std::uint32_t kAmazon = 0x1d0f;

bool is_no_devices(std::string_view line) {
  return line == "No IB devices found";
}

// "3" of "GID[  3]".
std::optional<int> gid_index(std::string_view key) {
  const auto rest = after(key, "GID[");
  if (!rest || !rest->ends_with(']')) return std::nullopt;
  const auto index = parse_number<int>(trimmed(rest->substr(0, rest->size() - 1)));
  return index && *index >= 0 && *index <= kMaxGidIndex ? index : std::nullopt;
}

// What only this tool says, and only in a port's part.
bool is_own_attribute(Attribute attribute) {
  return attribute.key == "hca_id" || attribute.key == "phys_port_cnt" ||
         attribute.key == "active_mtu" || gid_index(attribute.key).has_value();
}

// Whether the reader has a use for it.
bool is_known(std::string_view key) {
  constexpr std::array<std::string_view, 12> kKeys{
      "transport", "node_guid",  "vendor_id",  "vendor_part_id", "board_id",     "phys_port_cnt",
      "port",      "phys_state", "link_layer", "active_width",   "active_speed", "state"};
  return std::ranges::find(kKeys, key) != kKeys.end() || gid_index(key).has_value();
}

std::optional<std::uint32_t> parse_vendor(std::string_view text) {
  const auto digits = after(text, "0x");
  return digits ? parse_number<std::uint32_t>(*digits, 16) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(const Recording& recording) : notes_(recording.name), walk_(notes_) {}

  void take(Attribute attribute, int line) {
    const auto [key, value] = attribute;
    if (key == "hca_id") {
      begin_device(value, line);
      return;
    }
    if (!walk_.in_device()) {
      // Above the first device stand prompts and greetings, or the end of a device that is cut.
      if (!is_known(key)) return;
      begin_in_the_middle(line);
    }
    if (key == "phys_port_cnt") {
      walk_.announce(value);
    } else if (key == "port") {
      lanes_.reset();
      walk_.begin_port(value, line);
    } else if (const auto index = gid_index(key)) {
      take_gid(*index, value, line);
    } else {
      describe(walk_.current(), attribute, line);
    }
  }

  void take_no_devices(int line) {
    notes_.add({.severity = Severity::info,
                .code = "no-rdma-device",
                .message = "ibv_devinfo found no RDMA device",
                .where = "",
                .remedy = ""},
               line);
  }

  Machine machine() {
    Machine machine;
    machine.sources = {"ibv_devinfo"};
    machine.nics = walk_.take();
    machine.findings = notes_.take();
    return machine;
  }

 private:
  void begin_device(std::string_view name, int line) {
    lanes_.reset();
    if (is_device_name(name)) {
      walk_.begin_device(name, line);
      return;
    }
    notes_.add({.severity = Severity::warning,
                .code = "damaged-recording",
                .message = fmt::format("\"{}\" is no device's name", plain(name)),
                .where = "",
                .remedy = "record it again"},
               line);
    walk_.begin_device("", line);
  }

  void begin_in_the_middle(int line) {
    notes_.add({.severity = Severity::warning,
                .code = "incomplete-recording",
                .message = "the recording begins in the middle of a device, whose name is unknown",
                .where = "",
                .remedy = "record all of `ibv_devinfo -v`"},
               line);
    walk_.begin_device("", line);
  }

  void take_gid(int index, std::string_view value, int line) {
    const std::size_t comma = value.find(',');
    const auto address = parse_gid_address(trimmed(value.substr(0, comma)));
    if (!address) {
      notes_.add({.severity = Severity::warning,
                  .code = "damaged-recording",
                  .message = fmt::format("GID {} of {} cannot be read: \"{}\"", index,
                                         walk_.current().name, plain(value)),
                  .where = "",
                  .remedy = "record it again"},
                 line);
      return;
    }
    Nic& port = walk_.current();
    const std::string type =
        comma == std::string_view::npos ? "" : plain(trimmed(value.substr(comma + 1)));
    if (!add_gid(port,
                 {.index = index, .address = to_string(*address), .type = type, .netdev = ""}))
      return;
    if (port.kind == NicKind::unknown && type.starts_with("RoCE")) port.kind = NicKind::roce;
  }

  void describe(Nic& nic, Attribute attribute, int line) {
    const auto [key, value] = attribute;
    if (key == "node_guid") {
      nic.guid = plain(value);
    } else if (key == "transport") {
      if (value.starts_with("iWARP")) nic.kind = NicKind::other;
    } else if (key == "vendor_id") {
      set_vendor(nic, parse_vendor(value));
    } else if (key == "vendor_part_id") {
      nic.pci.device = parse_number<std::uint32_t>(value);
    } else if (key == "board_id") {
      nic.board = plain(value);
    } else if (key == "state") {
      set_state(nic, value, notes_, line);
    } else if (key == "phys_state") {
      nic.physical_state = physical_state(value);
    } else if (key == "link_layer") {
      if (nic.kind == NicKind::unknown) nic.kind = kind_of_link_layer(value);
    } else if (key == "active_width") {
      lanes_ = parse_number<int>(value.substr(0, value.find('X')));
    } else if (key == "active_speed") {
      const auto lane = rate_Gbps(value);
      if (lane && lanes_ && *lanes_ >= 1 && *lanes_ <= 12) nic.rate_Gbps = *lane * *lanes_;
    }
  }

  static void set_vendor(Nic& nic, std::optional<std::uint32_t> vendor) {
    if (vendor == kMellanoxPrefix) nic.pci.vendor = kMellanox;
    if (vendor == kAmazon) {
      nic.pci.vendor = kAmazon;
      nic.kind = NicKind::efa;
    }
  }

  Notes notes_;
  DeviceWalk walk_;
  std::optional<int> lanes_;
};

}  // namespace

bool is_ibv_devinfo(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    const std::string_view line = trimmed(lines.text());
    if (is_no_devices(line)) return true;
    const auto attribute = parse_attribute(line);
    if (attribute && is_own_attribute(*attribute)) return true;
  }
  return false;
}

Reading read_ibv_devinfo(const Recording& recording) {
  Reader reader(recording);
  for (Lines lines(recording.text); lines.next();) {
    const std::string_view line = trimmed(lines.text());
    if (is_no_devices(line)) {
      reader.take_no_devices(lines.number());
    } else if (const auto attribute = parse_attribute(line)) {
      reader.take(*attribute, lines.number());
    }
  }
  return {.machine = reader.machine(), .fabric = std::nullopt};
}

}  // namespace lockstep::topology
