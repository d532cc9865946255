// Reads NCCL's variables from a file: shell lines, /etc/nccl.conf, or what `env` prints.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

// Where at least half of the lines that are neither empty nor comments begin with NAME=, and one of
// the names with NCCL_.
[[nodiscard]] bool is_settings_file(std::string_view text);

// Machine::system.settings with the file as their origin, in its order, of the variables that
// concern NCCL. `export` and quotes are read as a shell does, what is not quoted up to a blank; a
// value that a shell would compute is not known, and said. Of a name set twice the last counts in a
// shell script (where a line has `export`), else the first, as in NCCL's own files. Cost: linear,
// but for the settings of one name.
[[nodiscard]] Reading read_settings_file(const Recording& recording);

}  // namespace lockstep::topology
