// The communicate pass: data parallelism put into a scheduled training graph.
//
// A bucket's reduction starts right after the last of its gradients is written and the last reader
// of its parameters is done (parameters are one copy a host, so the slice that another rank updates
// must not be in use here), in the order in which buckets are ready; it is waited for where its
// parameters are next used. Without clipping the update runs on each slice as its sum lands; with
// it, updates start when the late word knows the norm.
#pragma once

#include <cstddef>

#include "engine/compile.h"
#include "engine/device/visibility.h"
#include "runtime/parallel/buckets.h"

namespace lockstep::runtime::parallel {

enum class BatchNormPolicy {
  local,         // statistics of the worker's own share
  synchronised,  // of the global batch
};

struct DataParallelOptions {
  BatchNormPolicy batch_norm = BatchNormPolicy::local;
  // Ranks of one host. The latency is how long it takes until a computing peer looks up from its
  // node.
  LinkCost link{.latency = 20e-6, .seconds_per_byte = 1.0 / 8e9};
  std::size_t largest_bucket = 25u << 20;  // bytes; 0: no limit
  bool overlap = true;                     // false: all reductions start after the last gradient
};

class LOCKSTEP_API DataParallel final : public engine::CommunicatePass {
 public:
  explicit DataParallel(DataParallelOptions options) : options_(options) {}

  [[nodiscard]] std::vector<engine::Bucket> buckets(const engine::Graph& graph,
                                                    const engine::OpTable& ops) const override;
  [[nodiscard]] engine::Graph communicate(
      engine::Graph graph, const engine::OpTable& ops,
      const engine::PersistentPlacement& placement) const override;

 private:
  DataParallelOptions options_;
};

// Bytes of gradients whose reduction starts before the last gradient is computed, as a share of
// all.
[[nodiscard]] LOCKSTEP_API double overlapped_share(const engine::Plan& plan);

}  // namespace lockstep::runtime::parallel
