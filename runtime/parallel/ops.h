// The ops that data parallelism adds to the engine's table. All work in place.
//
//   early_word(early f64 [4]) -> early             sum over ranks; on the communication stream
//   reduce_start(dw..., [w..., states..., state, early]) bucket elements ... -> [dw...] or [w...,
//   states...]
//       sums a bucket's gradients over ranks, each rank its slice; with `fused`, updates that slice
//       of the parameters at once; on the communication stream
//   late_word(dw...) clip_norm -> late f64 [2]     squared norm of the reduced gradient over ranks
//   update_start(dw..., w..., states..., state, early, late) ... -> w..., states...
//       updates this rank's slice of a bucket whose sum has landed; on the communication stream
//   reduce_wait(x...) -> x...                      the place where compute waits for a bucket
//   all_reduce_statistics(sums f64) -> sums        synchronised batch norm; compute waits inside
#pragma once

#include "engine/device/visibility.h"
#include "engine/op.h"

namespace lockstep::runtime::parallel {

LOCKSTEP_API void add_ops(engine::OpTable& ops);

}  // namespace lockstep::runtime::parallel
