// Which Lockstep this is, as liblockstep.so says it at run time.
#pragma once

#include <string_view>

#include "engine/device/visibility.h"

namespace lockstep::engine {

// "0.1.0"
[[nodiscard]] LOCKSTEP_API std::string_view version();

}  // namespace lockstep::engine
