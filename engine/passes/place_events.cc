#include <array>
#include <map>

#include "engine/plan.h"

namespace lockstep::engine {
namespace {

constexpr std::size_t kStreams = 2;

// The last nodes to touch a value, by stream: positions in the list, -1 for none.
struct Touches {
  std::array<int, kStreams> read{-1, -1};
  std::array<int, kStreams> written{-1, -1};
};

}  // namespace

Plan place_events(Graph graph) {
  Plan plan;
  const int count = graph.node_count();
  std::map<ValueId, Touches> touches;
  // known[s][t]: the last position on stream t that stream s is ordered after.
  std::array<std::array<int, kStreams>, kStreams> known{{{-1, -1}, {-1, -1}}};
  std::vector<std::array<int, kStreams>> known_at(static_cast<std::size_t>(count));

  for (int position = 0; position < count; ++position) {
    const Node& node = graph.node({position});
    const auto stream = static_cast<std::size_t>(node.stream);
    const std::size_t other = 1 - stream;
    int needed = -1;  // latest position on the other stream that this node must come after
    auto visit = [&](ValueId id, bool writes) {
      if (!id.valid()) return;
      Touches& touched = touches[graph.storage_of(id)];
      needed = std::max(needed, touched.written[other]);
      if (writes) needed = std::max(needed, touched.read[other]);
    };
    for (ValueId id : node.inputs) visit(id, false);
    for (ValueId id : node.outputs) visit(id, true);
    visit(node.workspace, true);

    Entry entry{.node = {position}};
    if (needed > known[stream][other]) {
      Entry& before = plan.entries[static_cast<std::size_t>(needed)];
      if (before.records < 0) before.records = plan.events++;
      entry.waits.push_back(before.records);
      known[stream][other] = needed;
      known[stream][stream] =
          std::max(known[stream][stream], known_at[static_cast<std::size_t>(needed)][stream]);
    }
    known[stream][stream] = position;
    known_at[static_cast<std::size_t>(position)] = known[stream];
    for (ValueId id : node.inputs) {
      if (id.valid()) touches[graph.storage_of(id)].read[stream] = position;
    }
    for (ValueId id : node.outputs) touches[graph.storage_of(id)].written[stream] = position;
    if (node.workspace.valid()) touches[node.workspace].written[stream] = position;
    plan.entries.push_back(std::move(entry));
  }
  plan.graph = std::move(graph);
  return plan;
}

}  // namespace lockstep::engine
