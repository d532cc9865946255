// Ranks as threads, each with a replica of one model, fed with the same samples in any world.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/compile.h"
#include "runtime/parallel/communicate.h"
#include "runtime/replica.h"

namespace lockstep::runtime::test {

struct RankSetup {
  engine::ModelFunction model;
  engine::SampleShape sample{28, 28, 1};
  engine::OptimizerOptions optimizer;
  parallel::DataParallelOptions parallel;
  std::int64_t batch = 24;  // samples an optimizer step
  int accumulate = 1;
  bool evaluation = false;
  engine::Precision precision = engine::Precision::fp32;
  engine::Recompute recompute = engine::Recompute::none;
  // Ranks of each host, which speak to each other over the loopback interface; none: all ranks are
  // on one.
  std::vector<int> hosts;
};

// Compiles for `world` ranks; nothing is run.
[[nodiscard]] engine::CompiledJob compile_for(const RankSetup& setup, int world);

// One rank inside on_ranks.
struct RankContext {
  int rank;
  int world;
  Replica& replica;
  collectives::Communicator& communicator;
};

// Runs `body` on every rank of a world, each in a thread of its own; rethrows the first exception.
void on_ranks(const RankSetup& setup, int world, const std::function<void(RankContext&)>& body);

// Rank's share of micro-step `micro` of step `step`: samples are a function of (step, row of the
// global batch).
[[nodiscard]] data::Batch share_of(const RankSetup& setup, const RankContext& context,
                                   std::int64_t step, std::int64_t micro);

// Mean losses of `steps` steps from seed 1.
[[nodiscard]] std::vector<double> losses(const RankSetup& setup, int world, std::int64_t steps);

}  // namespace lockstep::runtime::test
