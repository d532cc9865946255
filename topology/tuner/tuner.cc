#include "topology/tuner/tuner.h"

namespace lockstep::topology::tuner {
namespace {

bool is_of(const Row& row, World world) {
  return (row.nodes == kAny || static_cast<std::size_t>(row.nodes) == world.nodes) &&
         (row.ranks == kAny || static_cast<std::size_t>(row.ranks) == world.ranks);
}

bool matches(const Row& row, const Call& call) {
  return call.bytes >= row.min_bytes && call.bytes <= row.max_bytes &&
         (row.pipe_ops == kAny || row.pipe_ops == call.pipe_ops) &&
         (row.registered == kAny || row.registered == call.registered);
}

// NCCL 2.21 obeys version 2 without asking whether it can. In its graph: collectives other than
// all-reduce have no trees, broadcast and reduce rings only; all but trees and rings speak Simple;
// NVLS over several nodes goes by CollNet. Whether LL128 is safe the interface does not say: a
// table is for the machines on which it was measured.
bool is_possible(const Row& row, World world, Support support) {
  const bool simple = row.protocol == Protocol::simple;
  const bool reduces_all = row.collective == Collective::all_reduce;
  const bool one_way =
      row.collective == Collective::broadcast || row.collective == Collective::reduce;
  switch (row.algorithm) {
    case Algorithm::ring:
      return true;
    case Algorithm::tree:
      return reduces_all;
    case Algorithm::collnet_direct:
      return simple && !one_way && support.collnet;
    case Algorithm::collnet_chain:
      return simple && reduces_all && support.collnet;
    case Algorithm::nvls:
      return simple && !one_way && support.nvls && (world.nodes == 1 || support.collnet);
    case Algorithm::nvls_tree:
      return simple && reduces_all && support.nvls && world.nodes > 1;
    case Algorithm::pat:
      return false;  // newer than version 2
  }
  return false;
}

}  // namespace

Tuner::Tuner(std::span<const Row> rows, World world) : world_(world) {
  for (const Row& row : rows) {
    if (is_of(row, world)) rows_[static_cast<std::size_t>(row.collective)].push_back(row);
  }
}

std::size_t Tuner::rows() const {
  std::size_t sum = 0;
  for (const std::vector<Row>& rows : rows_) sum += rows.size();
  return sum;
}

template <typename Take>
const Row* Tuner::first(const Call& call, Take take) const noexcept {
  if (call.collective < 0 || call.collective >= static_cast<int>(rows_.size())) return nullptr;
  for (const Row& row : rows_[static_cast<std::size_t>(call.collective)]) {
    if (matches(row, call) && take(row)) return &row;
  }
  return nullptr;
}

void Tuner::choose(const Call& call, const Costs& costs, int* channels) const noexcept {
  if (!costs.entries) return;
  float* chosen = nullptr;
  const Row* row = first(call, [&costs, &chosen](const Row& candidate) {
    const int algorithm = static_cast<int>(candidate.algorithm);
    const int protocol = static_cast<int>(candidate.protocol);
    if (algorithm >= costs.algorithms || protocol >= costs.protocols) return false;
    chosen = costs.entries + static_cast<std::ptrdiff_t>(algorithm) * costs.protocols + protocol;
    return *chosen >= 0;
  });
  if (!row) return;
  *chosen = 0;
  if (channels && row->channels != kAny) *channels = row->channels;
}

const Row* Tuner::choose(const Call& call, Support support) const noexcept {
  return first(call, [this, support](const Row& row) { return is_possible(row, world_, support); });
}

}  // namespace lockstep::topology::tuner
