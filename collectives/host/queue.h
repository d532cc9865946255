// The queue of a rank's calls, which is also the stream that they are enqueued on.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>

#include "collectives/communicator.h"
#include "collectives/host/bridge.h"
#include "collectives/host/call.h"
#include "collectives/host/control.h"
#include "collectives/host/moves.h"
#include "engine/device/stream.h"

namespace lockstep::collectives::host {

// Every call passes these marks in order: issued by the caller; published to the other ranks; where
// there are more hosts, summed, when all ranks of this one have published it; worked on, when all
// have published it, or what all hosts have together is there; completed, when its event has
// passed.
//
// Thread rule: one thread.
class Queue final : public engine::Stream {
 public:
  struct Parts {
    Control& control;
    Moves& moves;
    int rank;
    int world;
    int hosts;
    Bridge* bridge;  // on rank 0 where there are more hosts
    std::chrono::nanoseconds deadline;
    std::function<void(std::string_view)> abort;  // makes all ranks fail
  };
  explicit Queue(Parts parts);

  Event issue(Call call);
  [[nodiscard]] std::uint64_t next_piece() { return pieces_++; }

  [[nodiscard]] Event record() override { return {issued_}; }
  void progress() override;
  void wait(Event event) override;

  void throw_if_aborted() const;
  [[nodiscard]] const CommunicationTime& time() const { return time_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Marks = std::tuple<Sequence, Sequence, Sequence, Sequence, int, int, int, int>;

  bool advance();
  bool publish();
  bool sum();
  bool work();
  bool all_arrived(Sequence sequence);
  bool complete();
  void check_agreement(const Call& call, Sequence sequence) const;
  void work_on(const Call& call);

  void wait_longer(Event event, Clock::time_point begin);
  [[nodiscard]] Marks marks() const;
  void sleep(std::chrono::nanoseconds timeout);
  [[nodiscard]] std::chrono::nanoseconds patience() const;
  [[nodiscard]] std::string late(Event event) const;
  [[nodiscard]] std::string culprits(Sequence sequence) const;
  [[nodiscard]] Call& call(Sequence sequence) { return calls_[sequence - completed_ - 1]; }
  [[nodiscard]] const Call& call(Sequence sequence) const {
    return calls_[sequence - completed_ - 1];
  }
  // The first rank, from `from`, for which `done` does not hold; world where it holds for all.
  template <class Done>
  [[nodiscard]] int first_without(int from, Done done) const;
  [[nodiscard]] Sequence piece_before(const Call& call) const;

  Parts parts_;
  std::deque<Call> calls_;  // completed_ + 1 ... issued_
  Sequence issued_ = 0;
  Sequence published_ = 0;
  Sequence summed_ = 0;  // as worked_ on one host
  Sequence worked_ = 0;
  Sequence completed_ = 0;
  std::uint64_t pieces_ = 0;
  std::array<Sequence, kPieces>
      piece_user_{};  // the call that was last published with each piece of scratch

  // Ranks before these are known to have arrived at, or ended, the call that is next.
  int arrived_ = 0;
  int ended_ = 0;
  int reusable_ = 0;
  int released_ = 0;

  bool spin_known_ = false;
  bool may_spin_ = false;
  Sequence watched_ = 0;  // the call that is waited for
  Clock::time_point watched_arrival_{};
  CommunicationTime time_;
};

}  // namespace lockstep::collectives::host
