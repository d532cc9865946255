#include "topology/probe/file_tree.h"

#include <algorithm>

namespace lockstep::topology {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && digit(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string_view without_zeros(std::string_view number) {
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

bool before(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::string_view left = digits_at(a, i);
      const std::string_view right = digits_at(b, j);
      const std::string_view x = without_zeros(left);
      const std::string_view y = without_zeros(right);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i += left.size();
      j += right.size();
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  // Names that differ by leading zeros only still need an order.
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

}  // namespace

void sort_naturally(std::vector<std::string>& names) {
  std::ranges::sort(names, before);
}

}  // namespace lockstep::topology
