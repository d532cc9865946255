#include "topology/gid_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>

namespace lockstep::topology {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<std::uint8_t, 12> kMappedMulticast{0xff, 0x0e, 0, 0, 0,    0,
                                                        0,    0,    0, 0, 0xff, 0xff};
constexpr std::array<std::uint8_t, 8> kLinkLocal{0xfe, 0x80, 0, 0, 0, 0, 0, 0};

bool begins_with(const GidAddress& address, const auto& prefix) {
  return std::equal(prefix.begin(), prefix.end(), address.bytes.begin());
}

bool is_zero_after(const GidAddress& address, int first) {
  return std::all_of(address.bytes.begin() + first, address.bytes.end(),
                     [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

std::optional<GidAddress> parse_gid_address(std::string_view text) {
  // Longer than any form, and inet_pton wants its text terminated.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  const std::string terminated(text);
  GidAddress address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

std::string to_string(const GidAddress& address) {
  std::string text;
  for (std::size_t i = 0; i < address.bytes.size(); i += 2) {
    if (i != 0) text += ':';
    text += fmt::format("{:02x}{:02x}", address.bytes[i], address.bytes[i + 1]);
  }
  return text;
}

AddressFamily family_of(const GidAddress& address) {
  return begins_with(address, kMapped) || begins_with(address, kMappedMulticast)
             ? AddressFamily::ipv4
             : AddressFamily::ipv6;
}

bool is_link_local(const GidAddress& address) {
  return begins_with(address, kLinkLocal);
}

bool is_configured(const GidAddress& address) {
  const bool no_prefix = !is_link_local(address) && is_zero_after(address, 0);
  const bool no_interface = is_link_local(address) && is_zero_after(address, 8);
  return !no_prefix && !no_interface;
}

}  // namespace lockstep::topology
