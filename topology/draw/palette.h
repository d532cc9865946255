// The colours of pictures and what they mean.
//
// Thread rule: pure functions. Colours are "#rrggbb", chosen to stay apart for readers who do not
// tell red from green: kinds differ in lightness too, and alarms also in the width of the line.
#pragma once

#include <string_view>

#include "topology/draw/picture.h"

namespace lockstep::topology {

inline constexpr std::string_view kPaper = "#ffffff";
inline constexpr std::string_view kAlarm = "#d0021b";
inline constexpr std::string_view kAlarmFill = "#fdeaea";

struct Paint {
  std::string_view fill, line;
};

[[nodiscard]] Paint paint_of(BoxKind kind);
[[nodiscard]] std::string_view colour_of(LinkKind kind);
[[nodiscard]] std::string_view colour_of(Ink ink);
[[nodiscard]] std::string_view fill_of(PathKind kind);

// What a kind of link is called in a legend.
[[nodiscard]] std::string_view meaning_of(LinkKind kind);

// Of a line, in pixels, by how many NVLinks or PCIe lanes run in it.
[[nodiscard]] double line_width(LinkKind kind, int count);

}  // namespace lockstep::topology
