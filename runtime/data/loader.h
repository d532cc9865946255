// A worker's batches, made ahead of their use by threads that live as long as the loader.
//
//     Loader loader(source, make_pipeline(job.data.transforms, source.shape(), Mode::training),
//                   options);
//     for (;;) {
//       const Batch& batch = loader.next();
//       ... copy batch.images or batch.tokens in, run one micro-step ...
//     }
//
// Batches come for ever, epoch after epoch; flags mark the ends. What they hold depends on the
// options' seed, world, rank, batch, accumulate and mode alone: the same for any number of threads,
// and after seek() as if the steps before had been run.
//
// Thread rule: one thread calls the members. Cost of next() on a full ring: under 5 us. A thread
// that makes batches sleeps while the ring is full. Memory: (prefetch + 1) batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/device/visibility.h"
#include "runtime/data/batch.h"
#include "runtime/data/batch_plan.h"
#include "runtime/data/source.h"
#include "runtime/data/transform.h"

namespace lockstep::runtime::data {

struct LoaderOptions {
  std::uint64_t seed = 1;
  std::int64_t rank = 0;
  std::int64_t world = 1;
  std::int64_t batch = 0;       // global, see BatchPlan
  std::int64_t accumulate = 1;  // micro-steps a step
  Mode mode = Mode::training;   // evaluation: samples in the source's order
  std::int64_t threads = 2;     // 0: next() itself makes the batch
  std::int64_t prefetch = 2;    // batches made ahead; at least 1
};

// A step to come. Valid for the same batch size, whatever the world and accumulate.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  // in the epoch

  friend bool operator==(const Position&, const Position&) = default;
};

class LOCKSTEP_API Loader {
 public:
  // REQUIRES: the source outlives the loader. Throws DataError as BatchPlan does, and where the
  // pipeline's input is not the source's shape; windows of tokens have no pipeline.
  Loader(const Source& source, std::optional<Pipeline> pipeline, const LoaderOptions& options);
  // Ends the threads, whatever they are at; waits at most for the batches in the making.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] const BatchPlan& plan() const;
  // Of one sample of a batch.
  [[nodiscard]] const SampleShape& shape() const;

  // The next micro-step's share; valid until the next call of next() or seek(). Throws what making
  // this batch threw, at its turn and again on every later call until a seek().
  [[nodiscard]] const Batch& next();

  // The step whose first micro-step next() hands out next; in the midst of a step's micro-steps,
  // that step.
  [[nodiscard]] Position position() const;
  // Goes to a step, forward or back; {e, steps_per_epoch} is {e+1, 0}. Throws DataError where there
  // is no such step.
  void seek(Position position);

  // Seconds that next() has waited for data since the loader was made.
  [[nodiscard]] double wait_seconds() const;

 private:
  class Ring;
  std::unique_ptr<Ring> ring_;
};

}  // namespace lockstep::runtime::data
