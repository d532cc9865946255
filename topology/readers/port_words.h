// The words by which tools describe an RDMA port, in the one form in which a Nic keeps them.
//
// ibstat, ibstatus, ibv_devinfo and `rdma` name the same states each in its own way: "Active",
// "4: ACTIVE", "PORT_ACTIVE (4)"; "LinkUp", "5: LinkUp", "LINK_UP (5)". Thread rule: pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topology/devices.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {

// "KEY: VALUE", both trimmed; the key ends at the first colon. Empty where a line has none.
struct Attribute {
  std::string_view key, value;
};
[[nodiscard]] std::optional<Attribute> parse_attribute(std::string_view line);

// `text` as it may be kept and printed: what is not printable ASCII becomes '?', the rest of a long
// text is cut.
[[nodiscard]] std::string plain(std::string_view text);

// Whether `text` can name a device or an interface: 1 to 64 printable characters, no blank, no
// slash.
[[nodiscard]] bool is_device_name(std::string_view text);

// Sets the port's state. One that has a link but no subnet manager ("Initializing", "Armed")
// carries nothing: it is down, and noted.
void set_state(Nic& port, std::string_view text, Notes& notes, int line);

// "LinkUp", "Polling", "Disabled", "LinkErrorRecovery".
[[nodiscard]] std::string physical_state(std::string_view text);

// What an RDMA device is by the link layer of its port: "InfiniBand", "Ethernet".
[[nodiscard]] NicKind kind_of_link_layer(std::string_view text);

// Gb/s, of "400" or "200 Gb/sec (4X HDR)"; empty for 0 and for what no port has.
[[nodiscard]] std::optional<double> rate_Gbps(std::string_view text);

// Keeps what the device is. "MT4129" is NVIDIA's adapter of PCI device 4129.
void set_board(Nic& device, std::string_view text);

}  // namespace lockstep::topology
