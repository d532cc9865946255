#include "collectives/host/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collectives/host/futex.h"

// All shared words use the default, sequentially consistent order. That makes a publication (store,
// then look for sleepers) and falling asleep (announce, then look for publications) safe without
// fences, and on x86 the loads, which are what is waited on, cost nothing more.

namespace lockstep::collectives::host {
namespace {

constexpr int kSequenceBits = 48;
constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << kSequenceBits) - 1;

template <std::size_t N>
void copy_text(std::array<char, N>& to, std::string_view from) {
  const std::size_t n = std::min(from.size(), N - 1);
  std::memcpy(to.data(), from.data(), n);
  to[n] = '\0';
}

}  // namespace

std::size_t Control::bytes(int world) {
  const auto ranks = static_cast<std::size_t>(world);
  return sizeof(Header) + (ranks + 1) * sizeof(RankState) + ranks * kRing * sizeof(Entry);
}

Control::Control(std::shared_ptr<Segment> segment, int rank, int world)
    : segment_(std::move(segment)), rank_(rank), world_(world) {
  // Zeroed pages are valid objects of these types: all members are plain or lock-free words.
  static_assert(std::atomic<Sequence>::is_always_lock_free);
  std::byte* at = segment_->data();
  header_ = reinterpret_cast<Header*>(at);
  at += sizeof(Header);
  states_ = reinterpret_cast<RankState*>(at);
  at += static_cast<std::size_t>(places()) * sizeof(RankState);
  entries_ = reinterpret_cast<Entry*>(at);
}

void Control::set_name(std::string_view name, int number) {
  copy_text(states_[rank_].name, name);
  states_[rank_].number = number;
}

std::string Control::name_of(int rank) const {
  const char* name = states_[rank].name.data();
  return *name != '\0' ? std::string(name) : fmt::format("rank {}", rank);
}

void Control::note_processors() {
  ::sched_getaffinity(0, sizeof(cpu_set_t), &states_[rank_].cpus);
}

bool Control::enough_processors() const {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int r = 0; r < world_; ++r) CPU_OR(&all, &all, &states_[r].cpus);
  return CPU_COUNT(&all) >= world_;
}

void Control::publish(Sequence sequence) {
  entry(rank_, sequence).sequence.store(sequence);
  if (header_->sleepers.load() != 0) wake_those_who_want(Want::published, sequence);
}

void Control::sum(Sequence sequence) {
  states_[rank_].summed.store(sequence);
  if (header_->sleepers.load() != 0) wake_those_who_want(Want::summed, sequence);
}

void Control::finish(Sequence sequence) {
  states_[rank_].finished.store(sequence);
  if (header_->sleepers.load() != 0) {
    wake_those_who_want(Want::finished, sequence);
    wake_those_who_want(Want::reusable, sequence);
  }
}

void Control::release(Sequence sequence) {
  states_[rank_].released.store(sequence);
  if (header_->sleepers.load() != 0) wake_those_who_want(Want::released, sequence);
}

void Control::wake_those_who_want(Want want, Sequence sequence) {
  for (int r = 0; r < places(); ++r) {
    const std::uint64_t wanted = states_[r].wants[static_cast<std::size_t>(want)].load();
    if (wanted >> kSequenceBits != static_cast<std::uint64_t>(rank_) + 1) continue;
    if ((wanted & kSequenceMask) > sequence) continue;
    states_[r].wake.fetch_add(1);
    futex_wake_all(states_[r].wake);
  }
}

std::uint32_t Control::prepare_to_sleep() {
  header_->sleepers.fetch_add(1);
  return states_[rank_].wake.load();
}

void Control::want(Want want, int rank, Sequence sequence) {
  states_[rank_].wants[static_cast<std::size_t>(want)].store(
      (static_cast<std::uint64_t>(rank) + 1) << kSequenceBits | (sequence & kSequenceMask));
}

void Control::sleep(std::uint32_t ticket, std::chrono::nanoseconds timeout) {
  if (!aborted()) futex_wait(states_[rank_].wake, ticket, timeout);
}

void Control::stay_awake() {
  for (auto& want : states_[rank_].wants) want.store(0);
  header_->sleepers.fetch_sub(1);
}

void Control::wake() {
  states_[rank_].wake.fetch_add(1);
  futex_wake_all(states_[rank_].wake);
}

void Control::await_between_hosts(const Awaited& awaited) {
  header_->awaited_version.fetch_add(1);
  const std::size_t n = std::min(awaited.who.size(), header_->awaited.size() - 1);
  for (std::size_t i = 0; i < n; ++i) header_->awaited[i].store(awaited.who[i]);
  header_->awaited[n].store('\0');
  header_->patience.store(static_cast<std::int32_t>(awaited.patience.count()));
  header_->awaited_version.fetch_add(1);
}

Control::Awaited Control::awaited_between_hosts() const {
  const std::uint32_t before = header_->awaited_version.load();
  Awaited awaited{{}, std::chrono::milliseconds(header_->patience.load())};
  for (const auto& letter : header_->awaited) {
    const char c = letter.load();
    if (c == '\0') break;
    awaited.who += c;
  }
  if (before % 2 != 0 || header_->awaited_version.load() != before) return {};
  return awaited;
}

void Control::abort(std::string_view reason) {
  std::uint32_t none = 0;
  if (header_->aborted.compare_exchange_strong(none, 1)) {
    copy_text(header_->reason, reason);
    header_->aborted.store(2);
  }
  for (int r = 0; r < places(); ++r) {
    states_[r].wake.fetch_add(1);
    futex_wake_all(states_[r].wake);
  }
}

std::string Control::reason() const {
  // The writer may be dead, so this does not wait for it for long.
  for (int i = 0; i < 1000 && header_->aborted.load() == 1; ++i) ::sched_yield();
  return header_->aborted.load() == 2 ? std::string(header_->reason.data())
                                      : std::string("a rank of this host failed");
}

}  // namespace lockstep::collectives::host
