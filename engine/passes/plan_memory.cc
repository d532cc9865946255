#include <algorithm>
#include <map>

#include "engine/plan.h"

namespace lockstep::engine {
namespace {

constexpr std::size_t kAlignment = 64;
std::size_t align(std::size_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

// When a stretch of memory holds something: positions in the list, both ends included.
struct Lifetime {
  int begin = -1;
  int end = -1;
  void touch(int position) {
    if (begin < 0) begin = position;
    end = std::max(end, position);
  }
};

std::map<ValueId, Lifetime> lifetimes(const Graph& graph) {
  std::map<ValueId, Lifetime> lives;
  const int last = graph.node_count() - 1;
  for (int position = 0; position <= last; ++position) {
    const Node& node = graph.node({position});
    auto touch = [&](ValueId id) {
      if (!id.valid()) return;
      Lifetime& life = lives[graph.storage_of(id)];
      life.touch(position);
      if (node.stream == StreamKind::communication) life.touch(last);
    };
    for (ValueId id : node.inputs) touch(id);
    for (ValueId id : node.outputs) touch(id);
    touch(node.workspace);
  }
  for (const auto& [name, id] : graph.results()) lives[graph.storage_of(id)].touch(last);
  return lives;
}

// Lets outputs take their input's bytes where the op allows it and this is the input's last use.
void alias_in_place(Graph& graph, const OpTable& ops) {
  std::map<ValueId, Lifetime> lives = lifetimes(graph);
  for (int position = 0; position < graph.node_count(); ++position) {
    const Node& node = graph.node({position});
    const int slot = ops.find(node.op).in_place_input;
    if (slot < 0) continue;
    const ValueId input = node.inputs.at(static_cast<std::size_t>(slot));
    if (!input.valid()) continue;
    const ValueId from = graph.storage_of(input);
    const ValueId to = node.outputs[0];
    const bool alone = std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
                         return id.valid() && graph.storage_of(id) == from;
                       }) == 1;
    if (!alone || graph.value(from).role != Role::activation ||
        graph.value(to).role != Role::activation || graph.value(to).alias_of.valid() ||
        bytes_of(graph.value(from)) != bytes_of(graph.value(to)) || lives[from].end != position) {
      continue;
    }
    lives[from].end = std::max(lives[from].end, lives[to].end);
    graph.value(to).alias_of = from;
  }
}

struct Block {
  ValueId id;
  Lifetime life;
  std::size_t bytes;
  std::size_t offset = 0;
};

// Offsets for blocks of one arena; returns the arena's size.
std::size_t pack(std::vector<Block>& blocks) {
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  std::size_t size = 0;
  std::vector<const Block*> placed;  // by offset
  for (Block& block : blocks) {
    std::size_t offset = 0;
    for (const Block* other : placed) {
      if (other->life.end < block.life.begin || block.life.end < other->life.begin) continue;
      if (offset + block.bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    block.offset = offset;
    size = std::max(size, offset + block.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &block,
                         [](const Block* a, const Block* b) { return a->offset < b->offset; }),
        &block);
  }
  return size;
}

std::size_t most_alive(const std::vector<Block>& blocks, int positions) {
  std::vector<std::ptrdiff_t> change(static_cast<std::size_t>(positions) + 1);
  for (const Block& block : blocks) {
    change[static_cast<std::size_t>(block.life.begin)] += static_cast<std::ptrdiff_t>(block.bytes);
    change[static_cast<std::size_t>(block.life.end) + 1] -=
        static_cast<std::ptrdiff_t>(block.bytes);
  }
  std::ptrdiff_t alive = 0, most = 0;
  for (std::ptrdiff_t step : change) most = std::max(most, alive += step);
  return static_cast<std::size_t>(most);
}

}  // namespace

Plan plan_memory(Plan plan, const OpTable& ops, const PersistentPlacement& persistent_placement) {
  Graph& graph = plan.graph;
  alias_in_place(graph, ops);
  const std::map<ValueId, Lifetime> lives = lifetimes(graph);

  plan.placements.assign(static_cast<std::size_t>(graph.value_count()), {});
  plan.arena_bytes = persistent_placement.bytes();
  std::map<Arena, std::vector<Block>> blocks;
  for (const auto& [id, life] : lives) {
    const Value& value = graph.value(id);
    Placement& place = plan.placements[static_cast<std::size_t>(id.index)];
    place = {.arena = arena_of(value.role), .offset = 0, .bytes = bytes_of(value), .used = true};
    if (persistent(value.role)) {
      place.offset = persistent_placement.offset_of(graph, id);
    } else {
      blocks[place.arena].push_back({id, life, align(std::max<std::size_t>(1, place.bytes))});
    }
  }
  for (auto& [arena, arena_blocks] : blocks) {
    plan.arena_bytes[static_cast<std::size_t>(arena)] = pack(arena_blocks);
    if (arena == Arena::activations) {
      plan.lower_bound_activations = most_alive(arena_blocks, graph.node_count());
    }
    for (const Block& block : arena_blocks) {
      plan.placements[static_cast<std::size_t>(block.id.index)].offset = block.offset;
    }
  }
  // Values that alias another have its place.
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const ValueId storage = graph.storage_of({i});
    if (storage.index != i) {
      plan.placements[static_cast<std::size_t>(i)] =
          plan.placements[static_cast<std::size_t>(storage.index)];
    }
  }
  return plan;
}

}  // namespace lockstep::engine
