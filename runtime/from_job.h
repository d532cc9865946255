// What a job file's words mean to the engine and to runtime/parallel. Pure.
#pragma once

#include <cstdint>

#include "engine/device/visibility.h"
#include "engine/model.h"
#include "engine/optimizer.h"
#include "runtime/job.h"
#include "runtime/parallel/communicate.h"

namespace lockstep::runtime {

[[nodiscard]] LOCKSTEP_API engine::ModelFunction model_of(const ModelSpec& spec);

// `total_steps`: optimizer steps of the whole run, at whose end a decay of unstated length ends.
[[nodiscard]] LOCKSTEP_API engine::OptimizerOptions optimizer_of(const OptimizerSpec& spec,
                                                                 std::int64_t total_steps);

[[nodiscard]] LOCKSTEP_API parallel::DataParallelOptions parallel_of(const Job& job);

}  // namespace lockstep::runtime
