#include "topology/readers/lines.h"

#include "topology/letters.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kBlanks = " \t";

}  // namespace

bool Lines::next() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line_.size() > kMaxLength) line_ = line_.substr(0, kMaxLength);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  ++number_;
  return true;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  std::size_t at = line.find_first_not_of(kBlanks);
  while (at != std::string_view::npos) {
    const std::size_t end = line.find_first_of(kBlanks, at);
    found.push_back(line.substr(at, end == std::string_view::npos ? end : end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return found;
}

std::string without_escapes(std::string_view line) {
  constexpr char kEscape = '\x1b';
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != kEscape) {
      plain += line[i];
      continue;
    }
    if (i + 1 >= line.size() || line[i + 1] != '[') continue;
    // ESC [ parameters, then one letter.
    i += 2;
    while (i < line.size() && line[i] >= ' ' && line[i] <= '?') ++i;
  }
  return plain;
}

std::optional<std::string_view> after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> found;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (const auto number = parse_number<int>(text.substr(i, end - i))) found.push_back(*number);
    i = end + 1;
  }
  return found;
}

}  // namespace lockstep::topology
