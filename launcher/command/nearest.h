// The word that was probably meant.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

// The name with the fewest edits (a letter added, dropped or changed) from `word`, the first of
// equals; none where even that one is too far to be meant. Cost: O(letters of word x of all names).
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      const std::vector<std::string_view>& names);

}  // namespace lockstep::launcher
