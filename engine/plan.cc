#include "engine/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/error.h"

namespace lockstep::engine {

std::string_view name_of(Arena arena) {
  constexpr std::array<std::string_view, kArenas> kNames{"parameters", "gradients",   "optimizer",
                                                         "buffers",    "derived",     "inputs",
                                                         "state",      "activations", "workspace"};
  return kNames[static_cast<std::size_t>(arena)];
}

Arena arena_of(Role role) {
  switch (role) {
    case Role::parameter:
      return Arena::parameters;
    case Role::gradient:
      return Arena::gradients;
    case Role::optimizer:
      return Arena::optimizer;
    case Role::buffer:
      return Arena::buffers;
    case Role::derived:
      return Arena::derived;
    case Role::input:
      return Arena::inputs;
    case Role::state:
      return Arena::state;
    case Role::activation:
      return Arena::activations;
    case Role::scratch:
      return Arena::workspace;
  }
  throw Error("unknown role");
}

std::string dump_plan(const Plan& plan, const OpTable& ops) {
  std::string text;
  double flops = 0;
  for (const Entry& entry : plan.entries) {
    const Node& node = plan.node(entry);
    const Cost cost = ops.find(node.op).cost(plan.graph, node);
    flops += cost.flops;
    text += fmt::format("{:4} {:13} {:9} {:40} {:30} {:12.0f} flop {:12.0f} B", entry.node.index,
                        node.stream == StreamKind::compute ? "compute" : "communication",
                        name_of(node.phase), node.name, node.op, cost.flops, cost.bytes);
    if (!entry.waits.empty()) text += fmt::format("  waits {}", fmt::join(entry.waits, ","));
    if (entry.records >= 0) text += fmt::format("  records {}", entry.records);
    text += '\n';
  }
  return text + fmt::format("{} nodes, {} events, {:.3f} GFLOP\n", plan.entries.size(), plan.events,
                            flops / 1e9);
}

std::string dump_memory(const Plan& plan) {
  std::string text;
  for (std::size_t arena = 0; arena < kArenas; ++arena) {
    text +=
        fmt::format("{:12} {:12} B\n", name_of(static_cast<Arena>(arena)), plan.arena_bytes[arena]);
  }
  text += fmt::format("{:12} {:12} B alive at once at most\n", "activations",
                      plan.lower_bound_activations);
  for (std::size_t i = 0; i < plan.placements.size(); ++i) {
    const Placement& place = plan.placements[i];
    if (!place.used) continue;
    const Value& value = plan.graph.value({static_cast<std::int32_t>(i)});
    text += fmt::format("{:12} [{:10}, {:10})  {} {}[{}]\n", name_of(place.arena), place.offset,
                        place.offset + place.bytes, value.name, name_of(value.dtype),
                        value.shape.text());
  }
  return text;
}

}  // namespace lockstep::engine
