// One entry of a rank's queue: a call, or a piece of one whose buffer the peers cannot reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "collectives/communicator.h"

namespace lockstep::collectives::host {

enum class Kind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  barrier
};

// Where the ranks find each other's elements.
enum class Place : std::uint8_t {
  entry,      // in the payload of the call's entry: small sums, and barriers, which have none
  exchanged,  // in an arena of which each rank has a copy
  host,       // in the one arena of the host
  staged,     // in pieces, copied through scratch
};

// Between whom elements move. A call of the host is not known to other hosts.
enum class Reach : std::uint8_t { host, all_hosts };

struct Call {
  Kind kind = Kind::barrier;
  Place place = Place::entry;
  DType type = DType::u8;
  ReduceOp op = ReduceOp::sum;
  Reach reach = Reach::host;
  int root = 0;                  // broadcast: of all ranks
  int source = 0;                // broadcast: the rank of this host that the others copy from
  std::uint64_t number = 0;      // of the caller's call, from 1
  std::size_t count = 0;         // elements of the whole call
  std::byte* data = nullptr;     // this rank's buffer; what is sent, in all_to_all
  std::byte* receive = nullptr;  // all_to_all only
  std::size_t arena = 0;         // exchanged and host
  std::size_t offset = 0;        // bytes from the arena's begin; for pieces `first`
  // Staged: elements [first, last) of the buffer, or, where the buffer consists of one part a rank
  // and does not leave the host, of every part.
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t step = 0;                           // elements a part has in a piece
  std::uint64_t piece = 0;                        // counts the staged entries of the queue
  std::shared_ptr<const SliceConsumer> consumer;  // or producer, or none

  [[nodiscard]] std::size_t element() const { return engine::size_of(type); }

  // Elements of this entry, where it is one range of the buffer.
  [[nodiscard]] std::size_t range() const { return place == Place::staged ? last - first : count; }

  // What ranks combine by before the sum over hosts is divided.
  [[nodiscard]] ReduceOp op_within_host() const {
    return reach == Reach::all_hosts && op == ReduceOp::average ? ReduceOp::sum : op;
  }

  // What must be equal on all ranks.
  [[nodiscard]] std::uint64_t what() const;

  // The event passes when all have finished their share; otherwise when this rank has its result.
  [[nodiscard]] bool ends_together() const { return place != Place::entry; }

  [[nodiscard]] std::string text() const;  // "all_reduce #812 (25.0 MiB)"
};

// The call of another rank, from what it published: "all_reduce of 1024 f32 (sum, in an arena)".
[[nodiscard]] std::string text_of(std::uint64_t what, std::uint64_t count);

}  // namespace lockstep::collectives::host
