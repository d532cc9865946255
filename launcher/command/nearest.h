// The word that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep::launcher {

// The candidate with the fewest edits (a letter added, dropped or changed) from `word`, the first
// of several; empty where even that one is too far to be meant: more than a third of the word.
// Cost: the product of the lengths for each candidate.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace lockstep::launcher
