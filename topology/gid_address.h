// The 16 bytes of a GID, the address of an RDMA port.
//
// Tools write them in full (fe80:0000:...), compressed (fe80::1) and with an IPv4 address in them
// (::ffff:10.0.0.1), also side by side in one table. Thread rule: a value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::topology {

enum class AddressFamily { ipv4, ipv6 };

struct GidAddress {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const GidAddress&) const = default;
};

// Any of the forms above and nothing else in `text`.
[[nodiscard]] std::optional<GidAddress> parse_gid_address(std::string_view text);

// Eight groups of four hexadecimal digits, lower case: as Gid::address has it.
[[nodiscard]] std::string to_string(const GidAddress& address);

// The family in NCCL's sense: one that holds an IPv4 address is of that family, all others IPv6.
[[nodiscard]] AddressFamily family_of(const GidAddress& address);

// fe80::/64: reaches nobody beyond the link, and no RoCE v2 peer.
[[nodiscard]] bool is_link_local(const GidAddress& address);

// Neither all zero nor fe80:: without an interface's number.
[[nodiscard]] bool is_configured(const GidAddress& address);

}  // namespace lockstep::topology
