#include "launcher/hosts/host_name.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "topology/readers/lines.h"

namespace lockstep::launcher {
namespace {

constexpr std::size_t kLongestName = 255;

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '-' &&
         name.front() != '.' && std::ranges::all_of(name, is_name_byte);
}

bool is_ipv6(std::string_view name) {
  const std::size_t percent = name.find('%');
  if (percent != std::string_view::npos && !is_plain_name(name.substr(percent + 1))) return false;
  in6_addr address{};
  const std::string text(name.substr(0, std::min(percent, kLongestName)));
  return text.find('\0') == std::string::npos && inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

AllocatedHost read_host(const LocatedText& text, Word word) {
  AllocatedHost host;
  host.where = text.where(word.place);
  Word name = word;
  if (const std::size_t at = word.text.find('@'); at != std::string_view::npos) {
    host.user = read_user(text, word.part(0, at));
    name = word.part(at + 1);
  }
  if (!is_plain_name(name.text) && !is_ipv6(name.text)) {
    text.refuse(name.place,
                fmt::format("expected the name or address of a host, found '{}': letters, digits, "
                            "'_', '-' and '.', not beginning with '-'",
                            excerpt(name.text)));
  }
  host.name = name.text;
  return host;
}

std::string read_user(const LocatedText& text, Word word) {
  if (is_plain_name(word.text)) return std::string(word.text);
  text.refuse(word.place,
              fmt::format("expected the name of a user, found '{}'", excerpt(word.text)));
}

NameAndRest split_at_colon(const LocatedText& text, Word word) {
  // Only the host's part can hold a user.
  const std::size_t user =
      word.text.find('@') == std::string_view::npos ? 0 : word.text.find('@') + 1;
  if (word.text.substr(user).starts_with('[')) {
    const std::size_t close = word.text.find(']');
    const bool ends = close != std::string_view::npos && close + 1 == word.text.size();
    if (user != 0 || close == std::string_view::npos || (!ends && word.text[close + 1] != ':') ||
        !is_ipv6(word.text.substr(1, close - 1))) {
      text.refuse(word.place, fmt::format("expected an IPv6 address in brackets, as in "
                                          "[fe80::1]:8, found '{}'",
                                          excerpt(word.text)));
    }
    const Word name = word.part(1, close - 1);
    if (ends) return {name, std::nullopt};
    return {name, word.part(close + 2)};
  }
  const std::size_t colon = word.text.find(':');
  if (colon == std::string_view::npos || is_ipv6(word.text.substr(user)))
    return {word, std::nullopt};
  return {word.part(0, colon), word.part(colon + 1)};
}

std::uint32_t read_number(const LocatedText& text, Word word, std::string_view what,
                          NumberRange range) {
  const auto number = topology::parse_number<std::uint32_t>(word.text);
  if (number && *number >= range.least && *number <= range.most) return *number;
  text.refuse(word.place, fmt::format("expected {} of {} to {}, found '{}'", what, range.least,
                                      range.most, excerpt(word.text)));
}

std::uint32_t read_slots(const LocatedText& text, Word word) {
  return read_number(text, word, "a number of slots", {1, kMostSlots});
}

}  // namespace lockstep::launcher
