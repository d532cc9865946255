// What one rank does with the elements of a call.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/host/arenas.h"
#include "collectives/host/call.h"
#include "collectives/host/control.h"

namespace lockstep::collectives::host {

// A rank's scratch is kPieces pieces, so that pieces can be filled while others are worked on.
inline constexpr std::size_t kPieces = 4;
inline constexpr std::size_t kPieceBytes = std::size_t{256} * 1024;
// Elements that are reduced, handed to the consumer and copied before the next: they stay in the
// nearest cache.
inline constexpr std::size_t kChunk = 4096;

// Thread rule: one thread. Exceptions of consumers and producers pass through.
class Moves {
 public:
  struct Parts {
    Control& control;
    const Arenas& arenas;
    const Segments& scratch;
    int rank;
    int world;
  };
  explicit Moves(const Parts& parts);

  // Before the call is published: puts what peers will read into the entry or into scratch.
  void stage_in(const Call& call, Sequence sequence);

  // A call that reaches all hosts, when all ranks of this one have published it: this rank's slice
  // of their sum, made in rank 0's memory. Afterwards this rank has summed the call.
  void sum(const Call& call, Sequence sequence);

  // What the step between hosts works on in place, when all ranks have summed the call: all of it
  // lies in one rank's memory. Rank 0 calls it right after sum().
  [[nodiscard]] std::span<std::byte> between_hosts(const Call& call) const;

  // When all have published it, and hosts have their sum where it reaches them. Afterwards this
  // rank has finished the call.
  void work(const Call& call, Sequence sequence);

  // When all have finished it.
  void stage_out(const Call& call);

 private:
  void all_reduce(const Call& call);
  void reduce_scatter(const Call& call);
  void take_all(const Call& call);
  void take_slice(const Call& call);
  void all_gather(const Call& call);
  void broadcast(const Call& call);
  void all_to_all(const Call& call);
  void reduce(const Call& call, std::size_t elements, std::size_t consumer_begin);

  [[nodiscard]] std::byte* piece(const Call& call, int rank) const;
  [[nodiscard]] Slice part(const Call& call, int rank) const;
  void locate(const Call& call, Sequence sequence);

  Parts parts_;
  std::vector<std::byte*> buffers_;  // where each rank's elements lie, this rank's own included
  std::vector<std::byte*> sources_;  // of the reduction at hand
  std::vector<std::byte*> targets_;
};

}  // namespace lockstep::collectives::host
