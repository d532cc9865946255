// How a recording of text is cut up: lines, words, numbers.
//
// Everything is a view of the text given; a reader that keeps only what it understood uses little
// memory, however long the text. Thread rule: values and pure functions.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "topology/blanks.h"

namespace lockstep::topology {

// What std::string_view answers where it finds nothing.
inline constexpr std::size_t kNowhere = std::string_view::npos;

// The lines of a text, one after the other. A carriage return at a line's end is dropped. A line is
// cut after kMaxLength bytes: no program whose output is read here prints a longer one.
class Lines {
 public:
  static constexpr std::size_t kMaxLength = 1 << 16;

  explicit Lines(std::string_view text) : rest_(text) {}

  // Goes to the next line, at first to the first; false where there is none.
  [[nodiscard]] bool next();
  [[nodiscard]] std::string_view text() const { return line_; }
  [[nodiscard]] int number() const { return number_; }  // counted from 1

 private:
  std::string_view rest_, line_;
  int number_ = 0;
};

// The parts of a line between blanks and tabs; none of them is empty.
[[nodiscard]] std::vector<std::string_view> words(std::string_view line);

// `line` without the escape sequences by which terminals underline and colour.
[[nodiscard]] std::string without_escapes(std::string_view line);

// What follows `prefix` in `text`; empty where `text` does not begin with it.
[[nodiscard]] std::optional<std::string_view> after(std::string_view text, std::string_view prefix);

// The number that is all of `text`; a floating-point one is finite.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<Number>) {
    result = std::from_chars(text.data(), end, value);
    if (!std::isfinite(value)) return std::nullopt;
  } else {
    result = std::from_chars(text.data(), end, value, base);
  }
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

// The decimal numbers without sign that stand in `text`, in order; those too large are left out.
[[nodiscard]] std::vector<int> numbers_in(std::string_view text);

}  // namespace lockstep::topology
