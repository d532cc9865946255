#include "launcher/command/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace lockstep::launcher {
namespace {

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& names) {
  std::size_t fewest = std::max<std::size_t>(word.size() / 3, 2) + 1;
  std::optional<std::string_view> best;
  for (const std::string_view name : names) {
    const std::size_t count = edits(word, name);
    // A short word is a few edits from any other; what is left must share something.
    if (count < fewest && count < std::min(word.size(), name.size())) {
      fewest = count;
      best = name;
    }
  }
  return best;
}

}  // namespace lockstep::launcher
