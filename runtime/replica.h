// One rank's copy of a job in training: compiled programs, their memory, and the calls that run
// them.
//
// Thread rule: one thread, the communicator's. With more than one rank, every call that says
// "collective" is made by all ranks in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "engine/compile.h"
#include "engine/device/step_state.h"
#include "engine/device/visibility.h"
#include "engine/executor.h"
#include "runtime/data/loader.h"

namespace lockstep::runtime {

// Sums over an evaluation's samples, of all ranks.
struct EvaluationResult {
  double loss = 0;      // mean
  double accuracy = 0;  // share whose largest logit is the label's
  std::int64_t samples = 0;
};

// A tensor that outlives steps, where it lies.
struct SavedTensor {
  std::string name;
  engine::Arena arena;
  engine::DType dtype;
  engine::Shape shape;
  std::span<std::byte> bytes;
};

class LOCKSTEP_API Replica {
 public:
  // Collective: takes the arenas from `communicator`, which must outlive the replica.
  Replica(engine::CompiledJob compiled, const engine::KernelTable& kernels,
          collectives::Communicator& communicator, int accumulate);

  // Collective. Parameters and buffers at their beginnings, optimizer state zero.
  void initialise(std::uint64_t seed);

  // Collective. Makes what follows from parameters (derived weights) anew: after a load.
  void refresh();

  // Collective. Runs micro-step `batch.micro`; the last of a step updates the parameters.
  engine::RunTime run_micro_step(const data::Batch& batch);

  // Collective. As run_micro_step, node by node; calls `after` with each node that has run.
  void check_micro_step(
      const data::Batch& batch,
      const std::function<void(const engine::Graph&, const engine::Node&)>& after);

  // Adds a batch's loss, weight and correct to `totals`. Not collective.
  void evaluate(const data::Batch& batch, std::span<double, 3> totals);

  // Collective. Buffers (running statistics) become their mean over ranks, on every rank.
  void average_buffers();

  // The step that run_micro_step last ended.
  [[nodiscard]] engine::StepState& state() { return *state_; }

  // Parameters, buffers and optimizer states, by name. Parameters and optimizer states are one copy
  // a host.
  [[nodiscard]] const std::vector<SavedTensor>& tensors() const { return tensors_; }

  // Gradients of this rank before reduction or, in this rank's slices, after; in the buckets'
  // order.
  [[nodiscard]] std::span<const float> gradients() const;

  [[nodiscard]] const engine::CompiledJob& compiled() const { return compiled_; }
  [[nodiscard]] std::int64_t parameter_count() const;
  // Which of the compiled programs runs a micro-step.
  [[nodiscard]] std::string program_name(std::int64_t micro) const;

  // Bytes of a value of the training program that ends a step, or of evaluation.
  [[nodiscard]] std::span<std::byte> bytes(const std::string& program, engine::ValueId id) const;

 private:
  engine::Program& program_of(std::int64_t micro) { return programs_.at(program_name(micro)); }
  void set_inputs(const std::string& prefix, engine::Program& program, const data::Batch& batch);

  engine::CompiledJob compiled_;
  collectives::Communicator& communicator_;
  std::int64_t accumulate_;
  engine::Arenas arenas_;
  engine::InlineStream compute_;
  std::map<std::string, engine::Program> programs_;
  std::vector<SavedTensor> tensors_;
  engine::StepState* state_ = nullptr;
};

}  // namespace lockstep::runtime
