// How much room words take, and how to make them fit.
//
// Thread rule: pure functions. Widths are estimates for sans-serif fonts on the wide side (DejaVu
// Sans), since a picture does not know the font it will be shown in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology {

enum class Weight { plain, bold };

// Pixels. Letters beyond ASCII count as wide.
[[nodiscard]] double width_of(std::string_view text, double size, Weight weight = Weight::plain);

// The longest front of `text` that fits, with ".." where something was cut. Never cuts a letter of
// UTF-8 in two.
[[nodiscard]] std::string fitted(std::string_view text, double room, double size,
                                 Weight weight = Weight::plain);

// `text` broken at blanks and after hyphens into at most `lines` lines that fit; what is left over
// is cut.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, double room, double size,
                                               std::size_t lines);

}  // namespace lockstep::topology
