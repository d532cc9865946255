#include "topology/readers/port_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/pci_vendors.h"
#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMaxText = 128;
constexpr std::size_t kMaxName = 64;  // the kernel's IB_DEVICE_NAME_MAX
constexpr double kMaxRate = 1e5;

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

// "ACTIVE" of "4: ACTIVE" and of "PORT_ACTIVE (4)".
std::string_view word_of(std::string_view text) {
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos)
    text.remove_prefix(colon + 1);
  text = trimmed(text.substr(0, text.find('(')));
  return after(text, "PORT_").value_or(text);
}

}  // namespace

std::optional<Attribute> parse_attribute(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return Attribute{trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1))};
}

std::string plain(std::string_view text) {
  std::string kept(text.substr(0, kMaxText));
  std::ranges::replace_if(
      kept, [](char c) { return !is_printable(c); }, '?');
  return kept;
}

bool is_device_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::ranges::all_of(text, [](char c) { return is_printable(c) && c != ' ' && c != '/'; });
}

void set_state(Nic& port, std::string_view text, Notes& notes, int line) {
  std::string word(word_of(text));
  std::ranges::transform(word, word.begin(), lower);
  if (word == "active") {
    port.state = NicState::active;
  } else if (word == "down" || word.starts_with("active_defer")) {
    port.state = NicState::down;
  } else if (word.starts_with("init") || word == "armed") {
    port.state = NicState::down;
    notes.add({.severity = Severity::warning,
               .code = "port-not-ready",
               .message = fmt::format("{} port {} has a link but is only \"{}\": no subnet manager "
                                      "has made it active",
                                      port.name, port.port.value_or(1), plain(word_of(text))),
               .where = "",
               .remedy = "start a subnet manager (opensm, or the switch's own) on this fabric"},
              line);
  }
}

std::string physical_state(std::string_view text) {
  const std::string word = plain(word_of(text));
  if (std::ranges::any_of(word, is_lower) && word.find('_') == std::string::npos) return word;
  std::string joined;
  bool starts_word = true;
  for (const char c : word) {
    const bool separates = c == '_' || c == ' ';
    if (!separates) joined += starts_word ? c : lower(c);
    starts_word = separates;
  }
  return joined;
}

NicKind kind_of_link_layer(std::string_view text) {
  if (text == "InfiniBand") return NicKind::infiniband;
  if (text == "Ethernet") return NicKind::roce;
  return NicKind::unknown;
}

std::optional<double> rate_Gbps(std::string_view text) {
  const auto rate = parse_number<double>(text.substr(0, text.find(' ')));
  return rate && *rate > 0 && *rate <= kMaxRate ? rate : std::nullopt;
}

void set_board(Nic& device, std::string_view text) {
  device.board = plain(text);
  const auto digits = after(text, "MT");
  const auto number = digits ? parse_number<std::uint32_t>(*digits) : std::nullopt;
  if (!number || *number > 0xffff) return;
  device.pci.vendor = kMellanox;
  device.pci.device = *number;
}

}  // namespace lockstep::topology
