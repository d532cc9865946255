// `nvidia-smi nvlink -s` (state and speed of each NVLink port) and `-R` (what is at its other end).
//
// Both may stand in one file. Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_smi_nvlink(std::string_view text);

// A machine of GPUs with Gpu::nvlinks by number. A GPU keeps nvidia-smi's number: those below it
// that the recording leaves out are there without anything known of them. Errors: ReadError for a
// GPU or a port whose number is above what any machine has.
[[nodiscard]] Reading read_smi_nvlink(const Recording& recording);

}  // namespace lockstep::topology
