#include "topology/letters.h"

#include <algorithm>

namespace lockstep::topology {
namespace {

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, small, small);
}

std::string in_small_letters(std::string_view text) {
  std::string letters(text);
  std::ranges::transform(letters, letters.begin(), small);
  return letters;
}

}  // namespace lockstep::topology
