// The chain that makes a plan of a model. Each pass is a pure function in a file of its own:
//
//   build -> precision -> fuse -> differentiate -> recompute -> update -> layout
//         -> schedule -> communicate -> plan memory -> verify -> lower
//
// build is engine/model.h; communicate is runtime/parallel's and handed in by the caller; the last
// three are engine/plan.h, engine/verify.h and engine/executor.h. Passes throw Error that names the
// node.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/graph.h"
#include "engine/kernel.h"
#include "engine/op.h"
#include "engine/optimizer.h"

namespace lockstep::engine {

// Which micro-step of an optimizer step a program is. `whole` is first and last in one.
enum class MicroStep { whole, first, middle, last };
[[nodiscard]] constexpr bool begins_step(MicroStep m) {
  return m == MicroStep::whole || m == MicroStep::first;
}
[[nodiscard]] constexpr bool ends_step(MicroStep m) {
  return m == MicroStep::whole || m == MicroStep::last;
}

enum class Precision { fp32, bf16 };
enum class Recompute { none, block };

// Gives activations the type in which they are stored. fp32: all are f32. bf16: those that an op of
// class low reads, directly or through elementwise ops of class widest, unless an op needs them
// exact; the others, such as the residual stream of a transformer, stay f32. Ops of class low are
// told to compute in bf16 (attribute `compute`); what that means is the device's affair: their
// operands may lie in either type. Parameters stay f32. The backward pass takes its types from the
// forward pass (differentiate).
[[nodiscard]] LOCKSTEP_API Graph precision(Graph graph, const OpTable& ops, Precision precision);

// Merges chains whose middle value nothing else reads into ops with a gradient of their own:
//   relu after linear; relu before max_pool; add and relu after batch_norm (either form);
//   add before layer_norm, which then gives the sum too, whoever else reads it later.
[[nodiscard]] LOCKSTEP_API Graph fuse(Graph graph, const OpTable& ops);

// Appends the backward pass of result "totals": one gradient value (Role::gradient) a parameter.
// Parameters that the loss does not depend on are an Error that names them.
[[nodiscard]] LOCKSTEP_API Graph differentiate(Graph graph, const OpTable& ops);

// Chooses which activations are computed again in the backward pass. `none` keeps all. `block`
// keeps what a block of the model hands to others, and statistics; before a block's backward nodes
// it repeats those of its forward nodes that they need. The repeated nodes compute the same bits:
// sums over ranks (batch-norm statistics) are kept, random numbers are counters.
[[nodiscard]] LOCKSTEP_API Graph recompute(Graph graph, const OpTable& ops, Recompute policy);

// Adds what an optimizer step needs, by the program's place in it: sums gradients over micro-steps,
// and in the last one an optimizer node a parameter, updates of running statistics, and the end of
// the step.
[[nodiscard]] LOCKSTEP_API Graph update(Graph graph, const OpTable& ops,
                                        const OptimizerOptions& options, MicroStep micro_step);

// Gives operands the layouts that the device's kernels want: derived weights (Role::derived) for
// parameters that are read in another layout, scratch and a reorder for outputs, workspaces.
// Derived weights are taken as given; refreshed() makes them.
[[nodiscard]] LOCKSTEP_API Graph layout(Graph graph, const OpTable& ops,
                                        const KernelTable& kernels);

// A derived weight: which parameter, in which layout and type.
struct DerivedWeight {
  std::string parameter;
  DType dtype = DType::f32;
  Shape shape;
  Layout layout;
  friend bool operator==(const DerivedWeight&, const DerivedWeight&) = default;
};
[[nodiscard]] LOCKSTEP_API std::vector<DerivedWeight> derived_weights(const Graph& graph);

// Appends the reorders (Phase::refresh) that make `derived` from the parameters as they are at the
// graph's end; parameters and derived values that the graph lacks are added. An empty graph gives
// the program that runs after a load.
[[nodiscard]] LOCKSTEP_API Graph refreshed(Graph graph, const OpTable& ops,
                                           std::span<const DerivedWeight> derived);

// Drops nodes that nothing needs and orders the rest: by phase, else as built, with gradients of
// weights before gradients of data, so that reductions start as early as they can.
[[nodiscard]] LOCKSTEP_API Graph schedule(Graph graph, const OpTable& ops);

}  // namespace lockstep::engine
