#include "engine/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>

#include "engine/error.h"

namespace lockstep::engine {
namespace {

constexpr std::size_t kStreams = 2;

struct Touch {
  ValueId value;
  bool writes = false;
};

std::vector<Touch> touches_of(const Node& node) {
  std::vector<Touch> touches;
  for (ValueId id : node.inputs) {
    if (id.valid()) touches.push_back({id, false});
  }
  for (ValueId id : node.outputs) touches.push_back({id, true});
  if (node.workspace.valid()) touches.push_back({node.workspace, true});
  return touches;
}

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan) {}

  std::vector<std::string> run() {
    if (!check_places()) return std::move(found_);  // the other checks need them
    check_order();
    check_content();
    return std::move(found_);
  }

 private:
  [[nodiscard]] const Placement& place(ValueId id) const {
    return plan_.placements.at(static_cast<std::size_t>(id.index));
  }
  [[nodiscard]] const std::string& name(ValueId id) const { return plan_.graph.value(id).name; }
  [[nodiscard]] bool overlap(ValueId a, ValueId b) const {
    const Placement &x = place(a), &y = place(b);
    return x.arena == y.arena && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
  }

  bool check_places() {
    for (const Entry& entry : plan_.entries) {
      for (const Touch& touch : touches_of(plan_.node(entry))) {
        const Placement& at = place(touch.value);
        if (!at.used ||
            at.offset + at.bytes > plan_.arena_bytes[static_cast<std::size_t>(at.arena)]) {
          found_.push_back(fmt::format("\"{}\" of node \"{}\" lies outside arena {}",
                                       name(touch.value), plan_.node(entry).name,
                                       name_of(at.arena)));
        }
      }
    }
    return found_.empty();
  }

  void check_order() {
    // clock[i][s]: how many entries of stream s are known to be done before entry i runs, itself
    // included.
    std::vector<std::array<int, kStreams>> clock(plan_.entries.size());
    std::vector<int> ordinal(plan_.entries.size());
    std::array<std::array<int, kStreams>, kStreams> now{};
    std::map<int, std::size_t> recorded;
    for (std::size_t i = 0; i < plan_.entries.size(); ++i) {
      const Entry& entry = plan_.entries[i];
      const auto stream = static_cast<std::size_t>(plan_.node(entry).stream);
      for (int event : entry.waits) {
        auto it = recorded.find(event);
        if (it == recorded.end()) {
          found_.push_back(
              fmt::format("node \"{}\" waits for event {}, which is not recorded before it",
                          plan_.node(entry).name, event));
          continue;
        }
        for (std::size_t s = 0; s < kStreams; ++s) {
          now[stream][s] = std::max(now[stream][s], clock[it->second][s]);
        }
      }
      ordinal[i] = ++now[stream][stream];
      clock[i] = now[stream];
      if (entry.records >= 0) recorded[entry.records] = i;
    }
    for (std::size_t i = 0; i < plan_.entries.size(); ++i) {
      if (plan_.node(plan_.entries[i]).stream != StreamKind::communication) continue;
      for (std::size_t j = 0; j < plan_.entries.size(); ++j) {
        if (plan_.node(plan_.entries[j]).stream == StreamKind::communication) continue;
        const std::size_t first = std::min(i, j), second = std::max(i, j);
        const auto first_stream = static_cast<std::size_t>(plan_.node(plan_.entries[first]).stream);
        if (clock[second][first_stream] < ordinal[first]) check_pair(first, second);
      }
    }
  }

  // Two nodes that nothing orders must not touch the same bytes, unless both only read.
  void check_pair(std::size_t first, std::size_t second) {
    const Node& a = plan_.node(plan_.entries[first]);
    const Node& b = plan_.node(plan_.entries[second]);
    for (const Touch& x : touches_of(a)) {
      for (const Touch& y : touches_of(b)) {
        if ((x.writes || y.writes) && overlap(x.value, y.value)) {
          found_.push_back(fmt::format(
              "nothing orders \"{}\" ({} \"{}\") before \"{}\" ({} \"{}\"), which share bytes of "
              "arena {}",
              a.name, x.writes ? "writes" : "reads", name(x.value), b.name,
              y.writes ? "writes" : "reads", name(y.value), name_of(place(x.value).arena)));
          return;
        }
      }
    }
  }

  // Replays the list: `held` says which value each live range of bytes holds.
  void check_content() {
    std::map<std::pair<Arena, std::size_t>, ValueId> held;  // by begin; ranges do not overlap
    for (const Entry& entry : plan_.entries) {
      const Node& node = plan_.node(entry);
      for (ValueId id : node.inputs) {
        if (!id.valid() || place(id).bytes == 0) continue;
        const bool outside = !plan_.graph.value(id).producer.valid() && !was_written(id, held);
        if (outside) continue;  // given from outside and not yet overwritten
        auto it = held.find({place(id).arena, place(id).offset});
        if (it == held.end() || it->second != id) {
          found_.push_back(
              fmt::format("node \"{}\" reads \"{}\", whose bytes {}", node.name, name(id),
                          it == held.end() ? std::string("were overwritten")
                                           : "hold \"" + name(it->second) + "\" by then"));
        }
      }
      for (ValueId id : node.outputs) write(id, held);
      if (node.workspace.valid()) write(node.workspace, held);
    }
  }

  using Held = std::map<std::pair<Arena, std::size_t>, ValueId>;

  [[nodiscard]] bool was_written(ValueId id, const Held& held) const {
    const Placement& at = place(id);
    auto it = held.lower_bound({at.arena, at.offset + at.bytes});
    if (it == held.begin()) return false;
    --it;
    return overlap(it->second, id);
  }

  void write(ValueId id, Held& held) const {
    const Placement& at = place(id);
    if (at.bytes == 0) return;
    auto it = held.lower_bound({at.arena, at.offset});
    if (it != held.begin() && overlap(std::prev(it)->second, id)) --it;
    while (it != held.end() && overlap(it->second, id)) it = held.erase(it);
    held.insert_or_assign({at.arena, at.offset}, id);
  }

  const Plan& plan_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> violations(const Plan& plan) {
  return Verifier(plan).run();
}

void verify(const Plan& plan) {
  std::vector<std::string> found = violations(plan);
  if (found.empty()) return;
  const std::size_t more = found.size();
  found.resize(std::min<std::size_t>(found.size(), 3));
  throw Error(fmt::format("the plan is unsound ({} faults): {}", more, fmt::join(found, "; ")));
}

}  // namespace lockstep::engine
