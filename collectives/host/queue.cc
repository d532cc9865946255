#include "collectives/host/queue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lockstep::collectives::host {
namespace {

// Longer than a neighbour takes for a bucket of a few hundred KiB, shorter than what a sleeping
// thread would save.
constexpr std::chrono::microseconds kSpin(50);
constexpr int kLooksBetweenClocks = 64;
constexpr int kYields = 4;

void pause_processor() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Queue::Queue(Parts parts) : parts_(std::move(parts)) {}

template <class Done>
int Queue::first_without(int from, Done done) const {
  while (from < parts_.world && done(from)) ++from;
  return from;
}

Event Queue::issue(Call next) {
  calls_.push_back(std::move(next));
  ++issued_;
  publish();
  return {issued_};
}

// The staged call whose scratch this one takes over; 0: none.
Sequence Queue::piece_before(const Call& next) const {
  return next.place == Place::staged ? piece_user_[next.piece % kPieces] : 0;
}

bool Queue::publish() {
  const Sequence before = published_;
  while (published_ < issued_) {
    const Sequence sequence = published_ + 1;
    Call& next = call(sequence);
    if (sequence == 1) parts_.control.note_processors();
    if (sequence > kRing) {
      reusable_ = first_without(
          reusable_, [&](int r) { return parts_.control.has_finished(r, sequence - kRing); });
      if (reusable_ < parts_.world) break;
    }
    if (const Sequence user = piece_before(next); user != 0) {
      released_ =
          first_without(released_, [&](int r) { return parts_.control.has_released(r, user); });
      if (released_ < parts_.world) break;
    }
    reusable_ = released_ = 0;
    parts_.moves.stage_in(next, sequence);
    if (next.place == Place::staged) piece_user_[next.piece % kPieces] = sequence;
    Entry& entry = parts_.control.entry(parts_.rank, sequence);
    entry.what = next.what();
    entry.count = next.count;
    entry.offset = next.offset;
    parts_.control.publish(sequence);
    published_ = sequence;
  }
  return published_ != before;
}

bool Queue::all_arrived(Sequence sequence) {
  arrived_ =
      first_without(arrived_, [&](int r) { return parts_.control.has_published(r, sequence); });
  if (arrived_ < parts_.world) return false;
  arrived_ = 0;
  return true;
}

// Only on more than one host: a rank sums ahead of what the hosts are still at.
bool Queue::sum() {
  const Sequence before = summed_;
  while (parts_.hosts > 1 && summed_ < published_) {
    const Sequence sequence = summed_ + 1;
    if (!all_arrived(sequence)) break;
    const Call& next = call(sequence);
    check_agreement(next, sequence);
    const auto begin = Clock::now();
    if (sequence == watched_) watched_arrival_ = begin;
    if (next.reach == Reach::all_hosts) {
      parts_.moves.sum(next, sequence);
      time_.working += seconds(Clock::now() - begin);
    }
    parts_.control.sum(sequence);
    if (parts_.bridge != nullptr && next.reach == Reach::all_hosts) {
      parts_.bridge->add({sequence, next, parts_.moves.between_hosts(next)});
    }
    summed_ = sequence;
  }
  return summed_ != before;
}

bool Queue::work() {
  const Sequence before = worked_;
  while (worked_ < published_) {
    const Sequence sequence = worked_ + 1;
    const Call& next = call(sequence);
    if (parts_.hosts == 1) {
      if (!all_arrived(sequence)) break;
      check_agreement(next, sequence);
      summed_ = sequence;
    } else {
      if (summed_ < sequence) break;
      const Control& control = parts_.control;
      if (next.reach == Reach::all_hosts &&
          !control.has_summed(control.between_hosts(), sequence)) {
        break;
      }
    }
    work_on(next);
    parts_.control.finish(sequence);
    worked_ = sequence;
  }
  return worked_ != before;
}

void Queue::work_on(const Call& next) {
  const Sequence sequence = worked_ + 1;
  if (next.place == Place::entry) return parts_.moves.work(next, sequence);
  const auto begin = Clock::now();
  if (sequence == watched_ && parts_.hosts == 1) watched_arrival_ = begin;
  parts_.moves.work(next, sequence);
  time_.working += seconds(Clock::now() - begin);
}

void Queue::check_agreement(const Call& next, Sequence sequence) const {
  const Entry& mine = parts_.control.entry(parts_.rank, sequence);
  for (int r = 0; r < parts_.world; ++r) {
    const Entry& theirs = parts_.control.entry(r, sequence);
    const bool same_offset = next.place == Place::exchanged || theirs.offset == mine.offset;
    if (theirs.what == mine.what && theirs.count == mine.count && same_offset) continue;
    throw CollectiveError(fmt::format(
        "ranks disagree about call #{}: {} made {}, {} made {}; all ranks must make the same calls "
        "in the same order, with buffers in the same arenas",
        next.number, parts_.control.name_of(parts_.rank), text_of(mine.what, mine.count),
        parts_.control.name_of(r), text_of(theirs.what, theirs.count)));
  }
}

bool Queue::complete() {
  const Sequence before = completed_;
  while (completed_ < worked_) {
    const Sequence sequence = completed_ + 1;
    const Call& next = calls_.front();
    if (next.ends_together()) {
      ended_ =
          first_without(ended_, [&](int r) { return parts_.control.has_finished(r, sequence); });
      if (ended_ < parts_.world) break;
      ended_ = 0;
    }
    if (next.place == Place::staged) {
      parts_.moves.stage_out(next);
      parts_.control.release(sequence);
    }
    calls_.pop_front();
    completed_ = sequence;
  }
  return completed_ != before;
}

bool Queue::advance() {
  if (completed_ == issued_) return false;
  bool any = false;
  try {
    for (bool moved = true; moved; any |= moved) {
      moved = publish();
      moved |= sum();
      moved |= work();
      moved |= complete();
    }
  } catch (const CollectiveError& error) {
    parts_.abort(error.what());
    throw;
  } catch (const std::exception& error) {
    parts_.abort(fmt::format("{} failed: {}", parts_.control.name_of(parts_.rank), error.what()));
    throw;
  }
  return any;
}

void Queue::progress() {
  if (completed_ != issued_ && !parts_.control.aborted()) advance();
}

void Queue::throw_if_aborted() const {
  if (parts_.control.aborted()) throw CollectiveError(parts_.control.reason());
}

void Queue::wait(Event event) {
  if (completed_ >= event.sequence) return;
  if (event.sequence > issued_) {
    throw CollectiveError(
        fmt::format("event {} was never recorded: the last one is {}", event.sequence, issued_));
  }
  throw_if_aborted();
  const bool arrived = summed_ >= event.sequence;
  advance();
  if (completed_ >= event.sequence) return;

  const auto begin = Clock::now();
  watched_ = event.sequence;
  watched_arrival_ = arrived || summed_ >= event.sequence ? begin : Clock::time_point();
  try {
    wait_longer(event, begin);
  } catch (...) {
    watched_ = 0;
    throw;
  }
  const auto end = Clock::now();
  if (watched_arrival_ == Clock::time_point()) watched_arrival_ = end;
  time_.waiting += seconds(end - begin);
  time_.peer_wait += seconds(watched_arrival_ - begin);
  watched_ = 0;
}

void Queue::wait_longer(Event event, Clock::time_point begin) {
  auto quiet_since = begin;
  int looks = 0;
  while (true) {
    if (advance()) {
      quiet_since = {};
      looks = 0;
    }
    if (completed_ >= event.sequence) return;
    throw_if_aborted();
    if (!spin_known_ && summed_ > 0) {
      spin_known_ = true;
      may_spin_ = parts_.control.enough_processors();
    }
    ++looks;
    if (may_spin_ && looks % kLooksBetweenClocks != 0) {
      pause_processor();
      continue;
    }
    if (!may_spin_ && looks <= kYields) {
      ::sched_yield();
      continue;
    }
    const auto now = Clock::now();
    if (quiet_since == Clock::time_point()) quiet_since = now;
    const auto deadline = parts_.deadline + patience();
    if (now - begin >= deadline) {
      parts_.abort(late(event));
      throw_if_aborted();
    }
    if (!may_spin_ || now - quiet_since >= kSpin) sleep(begin + deadline - now);
  }
}

auto Queue::marks() const -> Marks {
  return {published_, summed_, worked_, completed_, arrived_, ended_, reusable_, released_};
}

void Queue::sleep(std::chrono::nanoseconds timeout) {
  Control& control = parts_.control;
  const std::uint32_t ticket = control.prepare_to_sleep();
  // Each mark that could move next, and the rank that holds it up: `first_without` has left it
  // behind.
  if (published_ < issued_) {
    const Sequence sequence = published_ + 1;
    if (sequence > kRing && reusable_ < parts_.world) {
      control.want(Want::reusable, reusable_, sequence - kRing);
    }
    const Sequence user = piece_before(call(sequence));
    if (user != 0 && released_ < parts_.world) control.want(Want::released, released_, user);
  }
  if (summed_ < published_) control.want(Want::published, arrived_, summed_ + 1);
  if (worked_ < summed_) control.want(Want::summed, control.between_hosts(), worked_ + 1);
  if (completed_ < worked_) control.want(Want::finished, ended_, completed_ + 1);
  try {
    // Where another rank is now in the way than the one that is asked to wake us, there is no
    // sleeping.
    const auto before = marks();
    advance();
    if (marks() == before) control.sleep(ticket, timeout);
  } catch (...) {
    control.stay_awake();
    throw;
  }
  control.stay_awake();
}

// Whoever is nearer to the culprit speaks first.
std::chrono::nanoseconds Queue::patience() const {
  const bool between_hosts = worked_ == completed_ && worked_ < summed_;
  return between_hosts ? parts_.control.awaited_between_hosts().patience
                       : std::chrono::milliseconds(0);
}

// Who holds up the first call that has not ended.
std::string Queue::late(Event event) const {
  const Control& control = parts_.control;
  const Sequence sequence = completed_ + 1;
  const std::string first = call(sequence).text();
  const std::string also =
      call(event.sequence).number == call(sequence).number
          ? std::string()
          : fmt::format(", which {} waits behind", call(event.sequence).text());
  return fmt::format("{}: {}{} did not end within {:.3g} s: {}", control.name_of(parts_.rank),
                     first, also, seconds(parts_.deadline), culprits(sequence));
}

std::string Queue::culprits(Sequence sequence) const {
  const Control& control = parts_.control;
  const bool joined = summed_ >= sequence;
  const bool worked = worked_ >= sequence;
  std::vector<std::string> late;
  for (int r = 0; r < parts_.world; ++r) {
    const bool there = worked   ? control.has_finished(r, sequence)
                       : joined ? control.has_summed(r, sequence)
                                : control.has_published(r, sequence);
    if (!there) late.push_back(control.name_of(r));
  }
  if (late.empty() && joined && !worked) {
    const std::string who = control.awaited_between_hosts().who;
    return fmt::format("{} did not do its part between hosts",
                       who.empty() ? control.name_of(0) : who);
  }
  return fmt::format("{} {}", late.empty() ? "no rank" : fmt::format("{}", fmt::join(late, ", ")),
                     joined
                         ? "joined it but did not do its part (stopped, or busy without progress)"
                         : "did not join it");
}

}  // namespace lockstep::collectives::host
