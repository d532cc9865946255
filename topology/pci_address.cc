#include "topology/pci_address.h"

#include <fmt/format.h>

#include <charconv>

namespace lockstep::topology {
namespace {

// A hexadecimal number of 1 to `digits` digits that is all of `text` and at most `limit`.
std::optional<std::uint32_t> hexadecimal(std::string_view text, std::size_t digits,
                                         std::uint32_t limit) {
  if (text.empty() || text.size() > digits) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || value > limit)
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto function = hexadecimal(text.substr(dot + 1), 1, 7);
  const std::string_view before = text.substr(0, dot);
  const std::size_t colon = before.rfind(':');
  if (!function || colon == std::string_view::npos) return std::nullopt;
  const auto device = hexadecimal(before.substr(colon + 1), 2, 31);

  const std::string_view front = before.substr(0, colon);
  const std::size_t domain_end = front.rfind(':');
  const bool with_domain = domain_end != std::string_view::npos;
  const auto bus = hexadecimal(with_domain ? front.substr(domain_end + 1) : front, 2, 255);
  const auto domain = with_domain ? hexadecimal(front.substr(0, domain_end), 8, ~0U)
                                  : std::optional<std::uint32_t>(0);
  if (!device || !bus || !domain) return std::nullopt;
  return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device),
                    static_cast<std::uint8_t>(*function)};
}

std::string to_string(PciAddress address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device,
                     address.function);
}

}  // namespace lockstep::topology
