// The comments that the env and conf writers share: lines that begin with '#'.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "topology/advice/advice.h"

namespace lockstep::topology {

// "# lockstep tune: host, NCCL 2.28".
[[nodiscard]] std::string heading_comment(const HostAdvice& advice);

// Why a setting is made; of a kept one, that it is in force already and how it stands.
[[nodiscard]] std::string setting_comment(const Advice& advice);

// `text` on one line: line breaks and other control characters become blanks.
[[nodiscard]] std::string on_one_line(std::string text);

}  // namespace lockstep::topology
