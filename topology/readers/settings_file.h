// Reads NCCL's variables from a file: NCCL's own (/etc/nccl.conf), lines or a script of a shell, or
// what `env` prints.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

// Where a line sets a variable NCCL_*, and either the file is a script of a shell or at least half
// of its lines, but for empty ones and comments, set variables.
[[nodiscard]] bool is_settings_file(std::string_view text);

// Machine::system.settings with the file as their origin, in its order, of the variables that
// concern NCCL; the provider too, where the file's settings, its name or its heading say one.
//
// A file called *.conf is read as NCCL would (topology/nccl_conf.h), unless it is a script: begins
// with "#!", has #SBATCH or the like, or starts a program. All others are read as a shell does:
// `export` and quotes, what is not quoted up to a blank, `mpirun -x NAME=VALUE`, `-genv NAME VALUE`
// and `srun --export=NAME=VALUE`. A value that a shell would compute, or that was not filled in, is
// said. Of a name set twice the last counts in a script (where a line has `export` or starts a
// program), else the first, as in NCCL's own files. Cost: linear, but for the settings of one name.
[[nodiscard]] Reading read_settings_file(const Recording& recording);

}  // namespace lockstep::topology
