// A plan: a scheduled graph with a stream, events and an address (arena and offset) for everything.
// It is what --dump plan and --dump memory print, what verify() checks and what an executor runs.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/graph.h"
#include "engine/op.h"

namespace lockstep::engine {

enum class Arena {
  parameters,
  gradients,
  optimizer,
  buffers,
  derived,
  inputs,
  state,
  activations,
  workspace
};
inline constexpr std::size_t kArenas = 9;
[[nodiscard]] LOCKSTEP_API std::string_view name_of(Arena arena);
[[nodiscard]] LOCKSTEP_API Arena arena_of(Role role);
using ArenaBytes = std::array<std::size_t, kArenas>;

// Parameters of one bucket, by name, in the order in which they lie. Elements are relative to the
// arena's begin and the same for parameters, gradients and each optimizer state.
struct Bucket {
  std::vector<std::string> parameters;
  std::size_t begin = 0;  // elements; a multiple of kBucketAlignment
  std::size_t end = 0;
};
inline constexpr std::size_t kBucketAlignment = 16;  // elements: one cache line of fp32

// Where everything that outlives a step lies: one for all programs of a job, so that they share
// arenas.
class LOCKSTEP_API PersistentPlacement {
 public:
  // Lays out parameters bucket by bucket; fills each bucket's range. Called once, before place().
  void place_parameters(const Graph& graph, std::vector<Bucket> buckets);

  // Gives a place to every persistent value of `graph` that has none yet.
  // REQUIRES: place_parameters() knows all its parameters.
  void place(const Graph& graph);

  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  [[nodiscard]] std::size_t parameter_elements() const { return parameter_elements_; }
  [[nodiscard]] std::size_t offset_of(const Graph& graph, ValueId id) const;  // bytes
  [[nodiscard]] const ArenaBytes& bytes() const { return bytes_; }

  struct Named {
    std::string name;
    Arena arena;
    std::size_t offset;
    DType dtype;
    Shape shape;
  };
  // All placed parameters, optimizer states and buffers, in order of placement: what a checkpoint
  // holds.
  [[nodiscard]] const std::vector<Named>& saved() const { return saved_; }

 private:
  std::vector<Bucket> buckets_;
  std::size_t parameter_elements_ = 0;
  std::map<std::string, std::size_t, std::less<>> element_of_;      // parameter -> first element
  std::map<std::pair<Arena, std::string>, std::size_t> offset_of_;  // others
  std::vector<Named> saved_;
  ArenaBytes bytes_{};
};

struct Placement {
  Arena arena = Arena::activations;
  std::size_t offset = 0;  // bytes
  std::size_t bytes = 0;
  bool used = false;
};

// When a node runs, beside its place in the list: after the events in `waits`.
struct Entry {
  NodeId node;
  std::vector<int> waits;  // indices of events, recorded earlier in the list
  int records = -1;        // event recorded after the node; -1: none
};

struct LOCKSTEP_API Plan {
  Graph graph;
  std::vector<Entry> entries;
  std::vector<Placement> placements;  // by value id
  int events = 0;
  ArenaBytes arena_bytes{};                 // of this plan
  std::size_t lower_bound_activations = 0;  // most bytes of activations alive at once

  [[nodiscard]] const Node& node(const Entry& entry) const { return graph.node(entry.node); }
};

// Adds the events that order nodes of different streams which touch the same value, one writing.
// Adds none that an earlier one implies.
[[nodiscard]] LOCKSTEP_API Plan place_events(Graph graph);

// Gives every value its arena and offset. Activations share bytes where their lifetimes do not
// meet: largest first, each at the lowest gap (Pisarchyk and Lee 2020, arXiv 2001.03288); an output
// takes its input's bytes where the op allows it and nothing reads the input later. What a
// communication node touches lives to the end of the plan.
[[nodiscard]] LOCKSTEP_API Plan plan_memory(Plan plan, const OpTable& ops,
                                            const PersistentPlacement& persistent);

// Text for people and golden tests. dump_plan: one line an entry: stream, events, node, FLOPs,
// bytes. dump_memory: arenas by owner, the bound, and each value's range and lifetime.
[[nodiscard]] LOCKSTEP_API std::string dump_plan(const Plan& plan, const OpTable& ops);
[[nodiscard]] LOCKSTEP_API std::string dump_memory(const Plan& plan);

}  // namespace lockstep::engine
