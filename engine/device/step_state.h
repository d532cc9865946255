// What changes from step to step. It lies in device memory and is advanced by one small kernel
// (`advance_state`), so that a plan can be captured once and replayed: nothing here is a kernel
// argument.
#pragma once

#include <cstdint>

namespace lockstep::engine {

// Trivially copyable; written to checkpoints as it is.
struct StepState {
  std::uint64_t step = 0;     // optimizer steps begun, the current one included
  std::uint64_t applied = 0;  // optimizer steps whose update was applied
  std::uint64_t seed = 0;     // of the job: random numbers are counters under it
  double loss_sum = 0;        // of the current step, over all workers, weighted
  double weight_sum = 0;      // samples (or tokens) behind loss_sum
  double correct_sum = 0;     // of them, classified rightly
  double squared_norm = 0;    // of the reduced gradient; measured only with clipping
  float learning_rate = 0;    // of the current step
  float gradient_scale = 1;   // clipping factor of the current step
  float global_weight = 0;  // divisor of the loss gradient: weight over all workers and micro-steps
  std::uint32_t skip = 0;   // 1: the loss was not finite; no update of this step is applied
};

}  // namespace lockstep::engine
