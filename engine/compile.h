// From a model to the programs of a job: the whole chain of engine/passes.h, for every program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/kernel.h"
#include "engine/model.h"
#include "engine/passes.h"
#include "engine/plan.h"

namespace lockstep::engine {

// The communicate pass as the chain sees it; runtime/parallel implements it.
class CommunicatePass {
 public:
  virtual ~CommunicatePass() = default;

  // Groups the parameters of a scheduled graph (of a program that ends a step) into buckets, first
  // ready first.
  [[nodiscard]] virtual std::vector<Bucket> buckets(const Graph& graph,
                                                    const OpTable& ops) const = 0;

  // Puts communication into a scheduled training graph. `placement` holds the buckets' ranges.
  [[nodiscard]] virtual Graph communicate(Graph graph, const OpTable& ops,
                                          const PersistentPlacement& placement) const = 0;
};

struct CompileOptions {
  SampleShape sample;
  std::int64_t batch = 0;  // samples a micro-step on this rank, padding included
  std::int64_t evaluation_batch =
      0;               // samples an evaluation program handles at once; 0: no evaluation
  int accumulate = 1;  // micro-steps an optimizer step
  Precision precision = Precision::fp32;
  Recompute recompute = Recompute::none;
  OptimizerOptions optimizer;
};

// Names of programs: "whole" (accumulate 1) or "first", "middle" (accumulate >= 3), "last";
// "evaluation"; "refresh", which makes derived weights after a load.
struct CompiledJob {
  std::map<std::string, Plan> plans;
  PersistentPlacement placement;
  std::vector<InitialValue> initial_values;  // ids in `graph`
  Graph graph;  // training graph before layout, of the program that ends a step: what ranks must
                // agree on
  ArenaBytes arena_bytes{};  // that hold all programs
};

// `communicate` may be null: one bucket, nothing communicated. Throws Error from any pass.
[[nodiscard]] LOCKSTEP_API CompiledJob compile(const ModelFunction& model, const OpTable& ops,
                                               const KernelTable& kernels,
                                               const CompileOptions& options,
                                               const CommunicatePass* communicate);

}  // namespace lockstep::engine
