// Runs a plan: binds its kernels to addresses once, then walks the list.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/memory.h"
#include "engine/device/stream.h"
#include "engine/device/visibility.h"
#include "engine/kernel.h"
#include "engine/plan.h"

namespace lockstep::engine {

// The memory of all programs of a job, by arena.
class LOCKSTEP_API Arenas {
 public:
  // Takes `bytes` from `source`: gradients exchanged, parameters and optimizer state one copy a
  // host, the rest of this rank's own.
  Arenas(const ArenaBytes& bytes, MemorySource& source);
  [[nodiscard]] std::span<std::byte> operator[](Arena arena) const {
    return spans_[static_cast<std::size_t>(arena)];
  }

 private:
  std::array<std::span<std::byte>, kArenas> spans_{};
};

// Seconds of one run of a program, by what they were spent on. `exposed` is compute waiting for
// communication, `stolen` compute lent to it; both are outside the phases' own times.
struct RunTime {
  double forward = 0;
  double backward = 0;
  double update = 0;
  double exposed = 0;
  double stolen = 0;
};

// One program of a job. Lowering checks the plan (verify) and binds every kernel.
//
// Thread rule: one thread, the one that owns both streams.
class LOCKSTEP_API Program {
 public:
  Program(Plan plan, const KernelTable& kernels, const Arenas& arenas);

  // Runs all nodes. `compute` and `communication` may be one stream.
  RunTime run(Stream& compute, Stream& communication);

  // Runs node by node, each ended before the next, and calls `after` with each. For finding faults.
  void run_checked(Stream& compute, Stream& communication,
                   const std::function<void(const Node&)>& after);

  // Bytes of a value while they are its own: persistent values and results always.
  [[nodiscard]] std::span<std::byte> bytes(ValueId id) const;
  [[nodiscard]] const Plan& plan() const { return plan_; }

 private:
  struct Step {
    Kernel kernel;
    StreamKind stream;
    Phase phase;
    std::vector<int> waits;
    int records;
  };
  Plan plan_;
  const Arenas& arenas_;
  std::vector<Step> steps_;
  std::vector<Event> events_;
  std::vector<StreamKind> event_stream_;
};

}  // namespace lockstep::engine
