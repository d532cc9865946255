// What a job file's words mean to the engine and to runtime/parallel. Pure.
#pragma once

#include <cstdint>

#include "engine/device/visibility.h"
#include "engine/model.h"
#include "engine/optimizer.h"
#include "engine/passes.h"
#include "runtime/data/source.h"
#include "runtime/job.h"
#include "runtime/parallel/communicate.h"

namespace lockstep::runtime {

// `vocabulary`: token values of a language model. Pure but for a plug-in, which it opens; then
// throws PluginError.
[[nodiscard]] LOCKSTEP_API engine::ModelFunction model_of(const ModelSpec& spec,
                                                          const engine::SampleShape& sample,
                                                          std::int64_t vocabulary);

// `total_steps`: optimizer steps of the whole run, at whose end a decay of unstated length ends.
[[nodiscard]] LOCKSTEP_API engine::OptimizerOptions optimizer_of(const OptimizerSpec& spec,
                                                                 std::int64_t total_steps);

// What the model asks of its data.
[[nodiscard]] LOCKSTEP_API data::SourceNeeds needs_of(const Job& job);

[[nodiscard]] LOCKSTEP_API engine::Precision precision_of(Precision precision);
[[nodiscard]] LOCKSTEP_API engine::Recompute recompute_of(Recompute recompute);

[[nodiscard]] LOCKSTEP_API parallel::DataParallelOptions parallel_of(const Job& job);

}  // namespace lockstep::runtime
