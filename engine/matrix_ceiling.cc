#include "engine/matrix_ceiling.h"

#include <algorithm>
#include <chrono>

#include "engine/executor.h"
#include "engine/plan.h"

namespace lockstep::engine {
namespace {

constexpr std::int64_t kExtent = 1024;
constexpr double kFlops = 2.0 * kExtent * kExtent * kExtent;
constexpr int kRuns = 12;

Graph product_graph(const OpTable& ops, Precision precision) {
  Graph graph;
  const Shape square{kExtent, kExtent};
  const DType stored = precision == Precision::fp32 ? DType::f32 : DType::bf16;
  const ValueId x =
      graph.add_value({.name = "x", .dtype = stored, .shape = square, .role = Role::input});
  const ValueId w = graph.add_value({.name = "w", .shape = square, .role = Role::parameter});
  Node node{.op = "linear", .name = "product", .inputs = {x, w, ValueId{}}, .outputs = {}};
  if (precision != Precision::fp32) node.attributes.set("compute", std::string("bf16"));
  const ValueId y = emit(graph, ops, std::move(node))[0];
  graph.value(y).dtype = stored;
  graph.set_result("y", y);
  return graph;
}

}  // namespace

double matrix_ceiling(const OpTable& ops, const KernelTable& kernels, Precision precision) {
  Graph graph = layout(product_graph(ops, precision), ops, kernels);
  PersistentPlacement placement;
  Bucket bucket;
  bucket.parameters = {"w"};
  placement.place_parameters(graph, {bucket});
  placement.place(graph);
  Plan plan = plan_memory(place_events(std::move(graph)), ops, placement);
  HeapMemory memory;
  const Arenas arenas(plan.arena_bytes, memory);
  Program program(std::move(plan), kernels, arenas);
  // Small finite numbers in either type; memory never written would be one page of zeros.
  for (Arena arena : {Arena::inputs, Arena::parameters, Arena::derived}) {
    std::ranges::fill(arenas[arena], std::byte{0x3C});
  }
  InlineStream stream;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    program.run(stream, stream);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, kFlops / seconds.count());
  }
  return best;
}

}  // namespace lockstep::engine
