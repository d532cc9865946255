#include "runtime/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace lockstep::runtime {
namespace {

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

// Optimal string alignment; three rows of its table are kept.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> above(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const bool same = lower(from[i - 1]) == lower(to[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && lower(from[i - 1]) == lower(to[j - 2]) &&
                             lower(from[i - 2]) == lower(to[j - 1]);
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[to.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& names) {
  // Longer than any name by far: no need to fill a table for it.
  constexpr std::size_t kLongest = 256;
  if (word.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t least = 0;
  for (const std::string_view name : names) {
    const std::size_t changes = distance(word, name);
    if (changes > std::max<std::size_t>(1, name.size() / 3)) continue;
    if (best && changes >= least) continue;
    best = name;
    least = changes;
  }
  return best;
}

}  // namespace lockstep::runtime
