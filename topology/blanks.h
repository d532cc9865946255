// Text without what surrounds it in files: blanks, tabs, line ends, and the NUL of firmware's
// texts.
//
// Thread rule: a pure function.
#pragma once

#include <string_view>

namespace lockstep::topology {

[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace lockstep::topology
