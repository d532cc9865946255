// The letters and digits of ASCII, in which tools write names and words, whatever the locale.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::topology {

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Whether both texts are the same but for capitals.
[[nodiscard]] bool same_letters(std::string_view a, std::string_view b);

// `text` without capitals.
[[nodiscard]] std::string in_small_letters(std::string_view text);

}  // namespace lockstep::topology
