// The addresses of this host by which other hosts may reach it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

// An interface's address, and what is known of the interface.
struct InterfaceAddress {
  std::string interface;
  std::string address;  // numeric
  bool up = false;      // up, and its link is
  bool loopback = false;
  bool bridge = false;  // by what the kernel says
  bool device = false;  // hardware is behind it
};

// The addresses of all interfaces. Errors: std::system_error.
[[nodiscard]] std::vector<InterfaceAddress> interface_addresses();

// Those worth offering to others, the likeliest first: never loopback (127.0.1.1 is), link-local,
// of an interface that is down, a bridge (docker0 has the same address on every host), or a
// tunnel's. `came_by`: the address by which somebody has already reached this host; empty: none.
// IPv4 before IPv6, hardware before what is virtual, else the kernel's order. Pure.
[[nodiscard]] std::vector<HostAddress> addresses_to_offer(const std::vector<InterfaceAddress>& all,
                                                          std::string_view came_by);

// Of SSH_CONNECTION ("CLIENT PORT SERVER PORT"): the server's address; empty where it has none.
[[nodiscard]] std::string address_of_ssh_connection(std::string_view value);

}  // namespace lockstep::launcher
