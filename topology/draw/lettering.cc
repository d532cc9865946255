#include "topology/draw/lettering.h"

#include <algorithm>

namespace lockstep::topology {
namespace {

constexpr double kBoldFactor = 1.12;

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

double letter(char c) {
  if (continues(c)) return 0;
  if (static_cast<unsigned char>(c) >= 0x80) return 1.0;
  constexpr std::string_view kNarrow = " .,:;|!'ijlIft()[]/-";
  constexpr std::string_view kWide = "mwMW@%";
  if (kNarrow.find(c) != std::string_view::npos) return 0.37;
  if (kWide.find(c) != std::string_view::npos) return 0.98;
  if (c >= 'A' && c <= 'Z') return 0.69;
  return 0.63;
}

}  // namespace

double width_of(std::string_view text, double size, Weight weight) {
  double sum = 0;
  for (const char c : text) sum += letter(c);
  return sum * size * (weight == Weight::bold ? kBoldFactor : 1);
}

std::string fitted(std::string_view text, double room, double size, Weight weight) {
  if (width_of(text, size, weight) <= room) return std::string(text);
  const double scale = size * (weight == Weight::bold ? kBoldFactor : 1);
  double used = width_of("..", size, weight);
  std::size_t end = 0;
  std::size_t next = 0;
  while (next < text.size()) {
    used += letter(text[next]) * scale;
    ++next;
    while (next < text.size() && continues(text[next])) ++next;
    if (used > room) break;
    end = next;
  }
  return std::string(text.substr(0, end)) + "..";
}

std::vector<std::string> wrapped(std::string_view text, double room, double size,
                                 std::size_t lines) {
  std::vector<std::string> broken;
  while (!text.empty() && broken.size() < lines) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) break;
    if (broken.size() + 1 == lines || width_of(text, size) <= room) {
      broken.push_back(fitted(text, room, size));
      break;
    }
    std::size_t end = 0;
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (text[at] != ' ' && text[at - 1] != '-') continue;
      if (width_of(text.substr(0, at), size) > room) break;
      end = at;
    }
    if (end == 0) end = std::min(text.find(' '), text.size());  // one word, wider than the room
    broken.push_back(fitted(text.substr(0, end), room, size));
    text.remove_prefix(end);
  }
  return broken;
}

}  // namespace lockstep::topology
