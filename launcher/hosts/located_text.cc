#include "launcher/hosts/located_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/hosts/allocation.h"

namespace lockstep::launcher {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

Word Word::part(std::size_t begin, std::size_t length) const {
  return {text.substr(begin, length), {place.line, place.column + begin}};
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown;
  for (const char c : text.substr(0, kMost)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text.size() > kMost ? shown + "..." : shown;
}

LocatedText::LocatedText(Kind kind, std::string name, std::string_view text)
    : kind_(kind), name_(std::move(name)), text_(text) {
  if (kind_ == Kind::kFile && text_.starts_with(kByteOrderMark))
    text_.remove_prefix(kByteOrderMark.size());
}

LocatedText LocatedText::with(std::string_view text) const {
  return {kind_, name_, text};
}

std::string LocatedText::where(Place place) const {
  if (kind_ == Kind::kValue) return name_;
  return fmt::format("{}:{}:{}", name_, place.line, place.column);
}

void LocatedText::refuse(Place place, std::string_view message) const {
  if (kind_ == Kind::kValue)
    throw AllocationError(fmt::format("{}, character {}: {}", name_, place.column, message));
  throw AllocationError(fmt::format("{}: {}", where(place), message));
}

bool LineWalk::next() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  return true;
}

std::vector<Word> words_of(Word line) {
  std::vector<Word> words;
  for (std::size_t begin = line.text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.text.find_first_of(kBlanks, begin), line.text.size());
    words.push_back(line.part(begin, end - begin));
    begin = line.text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<Word> split(Word word, char separator) {
  std::vector<Word> parts;
  for (std::size_t begin = 0; begin <= word.text.size();) {
    const std::size_t end = std::min(word.text.find(separator, begin), word.text.size());
    parts.push_back(word.part(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace lockstep::launcher
