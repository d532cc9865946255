// The choice of one communicator, made from a measured table.
//
// Built once, when NCCL makes a communicator; then asked at every collective. Thread rule: after
// construction it is only read, by any number of threads. The calls take no lock, allocate nothing
// and do not fail: where nothing fits, what NCCL chose stays. Cost of a call: one pass over the
// rows of its collective that fit this communicator's nodes and ranks.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "topology/tuner/table.h"

namespace lockstep::topology::tuner {

struct World {
  std::size_t ranks = 0, nodes = 0;
};

// One collective, as NCCL describes it.
struct Call {
  int collective = 0;  // NCCL's number; one that the table cannot name finds no row
  std::size_t bytes = 0;
  int pipe_ops = 1;
  std::optional<int> registered;  // empty: this version of the interface does not say
};

// NCCL's cost table: row-major, microseconds; a negative entry is not available.
struct Costs {
  float* entries = nullptr;
  int algorithms = 0, protocols = 0;
};

// What version 2 says instead of a cost table.
struct Support {
  bool collnet = false, nvls = false;
};

class Tuner {
 public:
  Tuner(std::span<const Row> rows, World world);

  [[nodiscard]] std::size_t rows() const;

  // Makes the entry of the first row that matches and is available the cheapest (0), and sets
  // `channels` where the row names them. Entries that are not available are never written.
  void choose(const Call& call, const Costs& costs, int* channels) const noexcept;

  // Version 2: the first row that matches and that NCCL 2.21 can do, or null.
  [[nodiscard]] const Row* choose(const Call& call, Support support) const noexcept;

 private:
  template <typename Take>
  const Row* first(const Call& call, Take take) const noexcept;

  World world_;
  std::array<std::vector<Row>, 5> rows_;  // by collective
};

}  // namespace lockstep::topology::tuner
