// A group of ranks that sum and move buffers together.
//
// Every call is made by all ranks of the group, in the same order, with the same count and type. It
// is enqueued on the communicator's own stream and returns at once with the event that marks its
// end; the buffer must not be touched before that event has passed, and must be ready when the call
// is made. Calls are done in the order in which they were enqueued. A call that has not ended
// `deadline` after it was first waited for fails on every rank with a CollectiveError that names
// the ranks that did not arrive; a rank that dies makes all pending and later calls of the others
// fail with its name.
//
// Buffers inside memory from allocate() are worked on in place. Any other buffer pays one copy in
// and out. It is the same on all ranks: a buffer lies in the same arena everywhere, or nowhere in
// one.
//
// Thread rule: one thread a communicator, but abort() may be called from any. Progress is made
// within stream().progress() and stream().wait(): there is no thread behind the caller's back.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/device/memory.h"
#include "engine/device/stream.h"
#include "engine/device/visibility.h"
#include "engine/dtype.h"

namespace lockstep::collectives {

using engine::DType;
using engine::Event;

// A collective failed: a rank died, was late or disagreed. The message names it.
class LOCKSTEP_API CollectiveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `count` elements of `type`, the same on all ranks.
struct Buffer {
  void* data = nullptr;
  std::size_t count = 0;
  DType type = DType::f32;
};

// A NaN on any rank gives NaN. `average` of integers truncates; u8 has none.
enum class ReduceOp { sum, max, min, average };

// Called with consecutive ranges [begin, end) of elements of the buffer, which together are this
// rank's slice, each while it is in cache.
using SliceConsumer = std::function<void(std::size_t begin, std::size_t end)>;

// Elements [begin, end) of a buffer of `count` that belong to rank `rank` of `world` that divide
// it: equal parts, rounded up to whole cache lines of 16 floats, so that late ranks may have less
// or nothing. Pure.
struct Slice {
  std::size_t begin = 0;
  std::size_t end = 0;
};
[[nodiscard]] LOCKSTEP_API Slice slice_of(std::size_t count, int rank, int world);

// Where a rank is. Ranks of one host share memory and divide buffers among them.
struct HostPlace {
  int host = 0;
  int hosts = 1;
  int local_rank = 0;
  int local_world = 1;

  friend bool operator==(const HostPlace&, const HostPlace&) = default;
};

// Seconds since the communicator was made.
struct CommunicationTime {
  double waiting = 0;    // inside wait(), until the event had passed
  double peer_wait = 0;  // the part of `waiting` before the last rank had enqueued its call
  double working = 0;    // reducing and consuming slices, wherever that was done
};

class LOCKSTEP_API Communicator : public engine::MemorySource {
 public:
  [[nodiscard]] virtual std::string_view backend() const = 0;  // "host", "mpi", "nccl"
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world() const = 0;
  [[nodiscard]] virtual HostPlace place() const = 0;

  // This rank's slice of a buffer of `count`. The ranks of a host divide the buffer among them, so
  // that every host has all of it, each slice once.
  [[nodiscard]] Slice slice(std::size_t count) const {
    const HostPlace at = place();
    return slice_of(count, at.local_rank, at.local_world);
  }

  // The stream all calls are enqueued on.
  [[nodiscard]] virtual engine::Stream& stream() = 0;

  // Combines `buffer` over all ranks in place: those of a host in their order, then what the hosts
  // have along a fixed binary tree (host h's, then that of 2h+1, then that of 2h+2). All ranks end
  // with the same bits, which depend on the world and its hosts but not on the buffer's place or
  // size. Cost within a host, P ranks, S bytes: P*S read and P*S written in all, in one pass;
  // between H hosts: 2*log2(H) steps, at most 3*S sent and 3*S received by a host.
  virtual Event all_reduce(Buffer buffer, ReduceOp op) = 0;

  // Combines over all ranks as all_reduce does, into this rank's slice of `buffer` (slice()), and
  // hands the slice to `consumer` bit by bit. Outside its slice the buffer's contents are undefined
  // afterwards. The event passes on a rank when *all* ranks of its host are done with its buffer
  // and their consumers have returned. Every host makes every slice: what consumers write is the
  // same on all hosts if it follows from the sums alone. Cost within a host: P*S read, S written in
  // all; between hosts as all_reduce.
  virtual Event reduce_scatter(Buffer buffer, ReduceOp op, SliceConsumer consumer) = 0;

  // `producer`, where given, first fills this rank's slice; then every rank has all slices of its
  // host, which are those of every host where producers write the same. In memory with
  // Sharing::host nothing moves; between hosts nothing does.
  virtual Event all_gather(Buffer buffer, SliceConsumer producer) = 0;

  // Memory with Sharing::host becomes that of the root's host.
  virtual Event broadcast(Buffer buffer, int root) = 0;

  // Block j of rank i's `send` (count/world elements each) becomes block i of rank j's `receive`.
  // Errors: CollectiveError on more than one host.
  virtual Event all_to_all(Buffer send, Buffer receive) = 0;

  // Returns when all ranks have called it.
  virtual void barrier() = 0;

  // Makes all pending and later calls of this and, where it can be told, of the other ranks fail
  // with `reason`. The first reason stays.
  virtual void abort(std::string_view reason) = 0;

  [[nodiscard]] virtual CommunicationTime time() const = 0;
};

}  // namespace lockstep::collectives
