// The words by which the ranks of a host coordinate: one segment, mapped by all.
//
// Every rank numbers its calls 1, 2, 3, ...; call k of all ranks is the same call. A rank
//   publishes k   (its entry says what the call is, and its buffer is ready),
//   sums k        (its slice of the host's sum is made; only on more than one host),
//   finishes k    (it is done with the others' buffers and entries of k), and
//   releases k    (it is done with the others' scratch of k),
// each in order. The step between hosts has a place of its own after those of the ranks
// (between_hosts()), which sums k when what all hosts have together is there. There are no locks: a
// rank that stops or dies between any two instructions leaves nothing that the others could not
// look past.
//
// Thread rule: publish, sum, finish, release and sleep by the one thread of the place; abort and
// the rest by any.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/host/segment.h"

namespace lockstep::collectives::host {

using Sequence = std::uint64_t;

// Calls that a rank can be ahead of the slowest one with what it has published.
inline constexpr std::size_t kRing = 128;
// Buffers up to these sizes are summed out of the entries themselves, by every rank. In an arena
// the slices, which need no copy, win from a few cache lines on (measured with 2 ranks on 2 cores:
// 0.8 us at 8 KiB).
inline constexpr std::size_t kSmallBytes = 4096;
inline constexpr std::size_t kSmallBytesInArena = 512;
inline constexpr std::size_t kCacheLine = 64;

// What a rank says of a call. A payload of 32 bytes shares the cache line of the sequence number.
struct alignas(kCacheLine) Entry {
  std::atomic<Sequence> sequence;
  std::uint64_t what;    // kind, type, operation, place, root: must be equal on all ranks
  std::uint64_t count;   // elements of the whole call: likewise
  std::uint64_t offset;  // where the buffer lies in its arena: may differ
  std::array<std::byte, kSmallBytes + 32> payload;
};
static_assert(sizeof(Entry) == kSmallBytes + kCacheLine);

// What a sleeper waits for: that `rank` publishes, sums, finishes or releases `sequence`.
enum class Want : std::uint8_t { published, summed, finished, reusable, released };
inline constexpr std::size_t kWants = 5;

struct RankState {
  alignas(kCacheLine) std::atomic<Sequence> finished;
  std::atomic<Sequence> released;
  std::atomic<Sequence> summed;
  alignas(kCacheLine) std::atomic<std::uint32_t> wake;
  std::array<std::atomic<std::uint64_t>, kWants> wants;  // rank + 1 in the top 16 bits; 0: nothing
  alignas(kCacheLine) std::array<char, 128> name;        // written before the ranks meet again
  std::int32_t number;                                   // likewise
  alignas(kCacheLine) cpu_set_t cpus;  // written before the first call is published
};

class Control {
 public:
  [[nodiscard]] static std::size_t bytes(int world);

  // The view of one place: a rank of the host, or `world` for the step between hosts.
  Control(std::shared_ptr<Segment> segment, int rank, int world);
  [[nodiscard]] int between_hosts() const { return world_; }

  // How this rank is called in messages, "rank 3 (node2)", and its number among all ranks of all
  // hosts. Once, before any rank asks for it.
  void set_name(std::string_view name, int number);
  [[nodiscard]] std::string name_of(int rank) const;
  [[nodiscard]] int number_of(int rank) const { return states_[rank].number; }

  // Notes the processors that the calling thread may run on. Before the first call is published.
  void note_processors();
  // Whether every rank can have a processor of its own. REQUIRES: all ranks have published a call.
  [[nodiscard]] bool enough_processors() const;

  [[nodiscard]] Entry& entry(int rank, Sequence sequence) const {
    return entries_[static_cast<std::size_t>(rank) * kRing + sequence % kRing];
  }
  [[nodiscard]] bool has_published(int rank, Sequence sequence) const {
    return entry(rank, sequence).sequence.load() >= sequence;
  }
  [[nodiscard]] bool has_summed(int rank, Sequence sequence) const {
    return states_[rank].summed.load() >= sequence;
  }
  [[nodiscard]] bool has_finished(int rank, Sequence sequence) const {
    return states_[rank].finished.load() >= sequence;
  }
  [[nodiscard]] bool has_released(int rank, Sequence sequence) const {
    return states_[rank].released.load() >= sequence;
  }

  void publish(Sequence sequence);
  void sum(Sequence sequence);
  void finish(Sequence sequence);
  void release(Sequence sequence);

  // Falling asleep takes three steps, so that no wake-up is lost: say what is wanted, look again
  // whether there is something to do, sleep.
  [[nodiscard]] std::uint32_t prepare_to_sleep();
  void want(Want want, int rank, Sequence sequence);
  void sleep(std::uint32_t ticket, std::chrono::nanoseconds timeout);
  void stay_awake();  // after prepare_to_sleep(), in every case
  void wake();        // this place; from any thread

  // What the step between hosts waits for, for the message of a rank that has waited too long:
  // "rank 2 (node2)", and how much longer than others it may wait, since who is nearer to the
  // culprit knows better. Written by one thread, read by any; a text that is being written reads as
  // none.
  struct Awaited {
    std::string who;
    std::chrono::milliseconds patience{};
  };
  void await_between_hosts(const Awaited& awaited);
  [[nodiscard]] Awaited awaited_between_hosts() const;

  // The first reason stays; wakes everybody.
  void abort(std::string_view reason);
  [[nodiscard]] bool aborted() const { return header_->aborted.load() != 0; }
  [[nodiscard]] std::string reason() const;

 private:
  struct Header {
    alignas(kCacheLine) std::atomic<std::uint32_t> aborted;  // 1: being written, 2: reason is valid
    alignas(kCacheLine) std::atomic<std::uint32_t> sleepers;
    alignas(kCacheLine) std::array<char, 1024> reason;
    alignas(kCacheLine) std::atomic<std::uint32_t> awaited_version;  // odd: being written
    std::atomic<std::int32_t> patience;                              // ms
    std::array<std::atomic<char>, 120> awaited;
  };
  [[nodiscard]] int places() const { return world_ + 1; }
  void wake_those_who_want(Want want, Sequence sequence);

  std::shared_ptr<Segment> segment_;
  int rank_;
  int world_;
  Header* header_;
  RankState* states_;
  Entry* entries_;
};

}  // namespace lockstep::collectives::host
