// A replica and its place in the data, to and from a checkpoint.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/device/visibility.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/data/loader.h"
#include "runtime/replica.h"

namespace lockstep::runtime {

// What a resume needs beside tensors. Numbers only, so that it can be broadcast as it is.
struct ResumePoint {
  std::int64_t step = 0;     // optimizer steps done
  std::int64_t applied = 0;  // of them, applied
  std::int64_t epoch = 0;    // the next step's place in the data
  std::int64_t step_in_epoch = 0;
};

// Views of the replica's tensors, under torch's names: batch norms also get their
// num_batches_tracked. The views are valid while the snapshot and the replica live and no step
// runs.
class LOCKSTEP_API Snapshot {
 public:
  // What a checkpoint says beside tensors: the resolved job, the plan, and the vocabulary that
  // token ids were given by (a data::Source's; empty: none of its own).
  struct Origin {
    nlohmann::json job;
    std::string plan_json;
    std::string vocabulary;
  };
  Snapshot(Replica& replica, const ResumePoint& point, Origin origin);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  [[nodiscard]] const checkpoint::CheckpointContent& content() const { return content_; }

 private:
  std::int64_t batches_tracked_;
  checkpoint::CheckpointContent content_;
};

// Copies a checkpoint's tensors into the replica's memory, on one rank; others get them by share().
// Throws CheckpointError that lists every tensor that is missing or has another shape, or where the
// checkpoint's tokens stand for something else than `vocabulary`.
[[nodiscard]] LOCKSTEP_API ResumePoint restore(Replica& replica,
                                               const checkpoint::LoadedCheckpoint& loaded,
                                               const std::string& vocabulary);

// Collective. Gives all ranks rank 0's point and buffers, and all hosts its parameters and
// optimizer states; sets the step state and refreshes what follows from the parameters.
LOCKSTEP_API void share(Replica& replica, collectives::Communicator& communicator,
                        ResumePoint& point);

}  // namespace lockstep::runtime
