// Where a device sits on the PCI bus: domain:bus:device.function.
//
// Thread rule: a value. Source of the forms: Linux (0000:0f:00.0; domains above 16 bits, as behind
// VMD, have more digits), nvidia-smi (00000000:0F:00.0), lspci (0f:00.0 in domain 0), NCCL's dumps.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::topology {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;    // 0 to 31
  std::uint8_t function = 0;  // 0 to 7

  auto operator<=>(const PciAddress&) const = default;
};

// Any of the forms above, hexadecimal in either case, with or without the domain; nothing else in
// `text`.
[[nodiscard]] std::optional<PciAddress> parse_pci_address(std::string_view text);

// As Linux writes it: lower case, at least four digits of domain.
[[nodiscard]] std::string to_string(PciAddress address);

}  // namespace lockstep::topology
