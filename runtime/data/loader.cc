#include "runtime/data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/data/sampler.h"

namespace lockstep::runtime::data {
namespace {

using Order = std::vector<std::uint32_t>;

// The orders of the epochs that are being read, made when first asked for. Thread rule: any thread.
class EpochOrders {
 public:
  EpochOrders(std::size_t samples, std::uint64_t seed) : samples_(samples), seed_(seed) {}

  std::shared_ptr<const Order> of(std::int64_t epoch) {
    const std::lock_guard lock(mutex_);
    // Two, since threads work on both sides of an epoch's end.
    Entry& entry = entries_[static_cast<std::size_t>(epoch % 2)];
    if (!entry.order || entry.epoch != epoch) {
      entry = {epoch, std::make_shared<const Order>(
                          shuffled_order(samples_, seed_, static_cast<std::uint64_t>(epoch)))};
    }
    return entry.order;
  }

 private:
  struct Entry {
    std::int64_t epoch = 0;
    std::shared_ptr<const Order> order;
  };
  std::mutex mutex_;
  std::size_t samples_;
  std::uint64_t seed_;
  std::array<Entry, 2> entries_;
};

}  // namespace

// Micro-steps are numbered through from the first of epoch 0: a ticket. Ticket t is made by
// whichever thread comes first, in slot t modulo the number of slots.
class Loader::Ring {
 public:
  Ring(const Source& source, std::optional<Pipeline> pipeline, const LoaderOptions& options);
  ~Ring() { stop(); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  const BatchPlan& plan() const { return plan_; }
  const SampleShape& shape() const { return filler_.shape(); }
  const Batch& next();
  Position position() const;
  void seek(Position position);
  double wait_seconds() const { return std::chrono::duration<double>(waited_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Slot {
    Batch batch;
    std::exception_ptr failure;
    std::int64_t made = -1;  // the ticket that lies here
  };

  void stop();
  void work();
  Slot& slot_of(std::int64_t ticket) {
    return slots_[static_cast<std::size_t>(ticket) % slots_.size()];
  }
  std::int64_t tickets_per_epoch() const { return plan_.steps_per_epoch() * options_.accumulate; }
  void make(std::int64_t ticket, Slot& slot, BatchFiller::Scratch& scratch);
  void fill(std::int64_t ticket, Batch& batch, BatchFiller::Scratch& scratch);

  const BatchFiller filler_;
  const LoaderOptions options_;
  const BatchPlan plan_;
  EpochOrders orders_;
  std::vector<Slot> slots_;
  Clock::duration waited_{};
  BatchFiller::Scratch caller_;  // of next(), where there are no threads

  std::mutex mutex_;
  std::condition_variable room_;     // a ticket may be begun, or the end
  std::condition_variable arrival_;  // a ticket was made
  std::int64_t next_in_ = 0;         // ticket to begin
  std::int64_t next_out_ = 0;        // ticket to hand out
  std::int64_t making_ = 0;          // tickets begun and not made
  bool seeking_ = false;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;
};

Loader::Ring::Ring(const Source& source, std::optional<Pipeline> pipeline,
                   const LoaderOptions& options)
    : filler_(source, std::move(pipeline), options.seed),
      options_(options),
      plan_({static_cast<std::int64_t>(source.size()), options.batch, options.world,
             options.accumulate, options.mode}),
      orders_(source.size(), options.seed) {
  if (options.rank < 0 || options.rank >= options.world) {
    throw DataError(
        fmt::format("expected a rank of 0 to {}, found {}", options.world - 1, options.rank));
  }
  if (options.threads < 0 || options.prefetch < 1) {
    throw DataError(
        fmt::format("expected loader threads from 0 and prefetch from 1, found {} and {}",
                    options.threads, options.prefetch));
  }
  // One more than is made ahead: the caller holds one.
  const bool alone = options.threads == 0;
  slots_.resize(alone ? 1 : static_cast<std::size_t>(options.prefetch) + 1);
  for (Slot& slot : slots_) slot.batch = filler_.make_batch(plan_.capacity());
  try {
    for (std::int64_t thread = 0; thread < options.threads; ++thread) {
      threads_.emplace_back([this] { work(); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

void Loader::Ring::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  threads_.clear();
}

void Loader::Ring::work() {
  BatchFiller::Scratch scratch;
  std::unique_lock lock(mutex_);
  for (;;) {
    room_.wait(
        lock, [&] { return stopping_ || (!seeking_ && next_in_ < next_out_ + options_.prefetch); });
    if (stopping_) return;
    const std::int64_t ticket = next_in_++;
    ++making_;
    lock.unlock();
    Slot& slot = slot_of(ticket);
    make(ticket, slot, scratch);
    lock.lock();
    slot.made = ticket;
    --making_;
    arrival_.notify_one();
  }
}

void Loader::Ring::make(std::int64_t ticket, Slot& slot, BatchFiller::Scratch& scratch) {
  slot.failure = nullptr;
  try {
    fill(ticket, slot.batch, scratch);
  } catch (...) {
    slot.failure = std::current_exception();
  }
}

void Loader::Ring::fill(std::int64_t ticket, Batch& batch, BatchFiller::Scratch& scratch) {
  batch.epoch = ticket / tickets_per_epoch();
  batch.step = ticket % tickets_per_epoch() / options_.accumulate;
  batch.micro = ticket % options_.accumulate;
  batch.last_of_step = batch.micro + 1 == options_.accumulate;
  batch.last_of_epoch = batch.last_of_step && batch.step + 1 == plan_.steps_per_epoch();
  batch.global_weight = plan_.global_count(batch.step) * shape().labels();

  const ShareRange share = plan_.share(batch.step, options_.rank, batch.micro);
  batch.count = share.count;
  std::shared_ptr<const Order> order;
  if (options_.mode == Mode::training) order = orders_.of(batch.epoch);
  for (std::int64_t row = 0; row < share.count; ++row) {
    const std::int64_t position = share.first_position + row;
    batch.rows[static_cast<std::size_t>(row)] = share.first_row + row;
    filler_.fill_row(row, order ? (*order)[static_cast<std::size_t>(position)] : position, batch,
                     scratch);
  }
  filler_.pad(batch);
}

const Batch& Loader::Ring::next() {
  std::unique_lock lock(mutex_);
  Slot& slot = slot_of(next_out_);
  if (slot.made != next_out_) {
    const auto start = Clock::now();
    if (threads_.empty()) {
      make(next_out_, slot, caller_);
      slot.made = next_out_;
    } else {
      arrival_.wait(lock, [&] { return slot.made == next_out_; });
    }
    waited_ += Clock::now() - start;
  }
  if (slot.failure) std::rethrow_exception(slot.failure);
  ++next_out_;
  lock.unlock();
  room_.notify_one();
  return slot.batch;
}

Position Loader::Ring::position() const {
  // next_out_ is written by this thread alone.
  return {next_out_ / tickets_per_epoch(), next_out_ % tickets_per_epoch() / options_.accumulate};
}

void Loader::Ring::seek(Position position) {
  if (position.epoch < 0 || position.step < 0 || position.step > plan_.steps_per_epoch()) {
    throw DataError(
        fmt::format("there is no step {} of epoch {}: an epoch of this data and batch has {} steps",
                    position.step, position.epoch, plan_.steps_per_epoch()));
  }
  std::unique_lock lock(mutex_);
  seeking_ = true;
  arrival_.wait(lock, [&] { return making_ == 0; });
  next_in_ = next_out_ = position.epoch * tickets_per_epoch() + position.step * options_.accumulate;
  for (Slot& slot : slots_) slot.made = -1;
  seeking_ = false;
  lock.unlock();
  room_.notify_all();
}

Loader::Loader(const Source& source, std::optional<Pipeline> pipeline, const LoaderOptions& options)
    : ring_(std::make_unique<Ring>(source, std::move(pipeline), options)) {}
Loader::~Loader() = default;

const BatchPlan& Loader::plan() const {
  return ring_->plan();
}
const SampleShape& Loader::shape() const {
  return ring_->shape();
}
const Batch& Loader::next() {
  return ring_->next();
}
Position Loader::position() const {
  return ring_->position();
}
void Loader::seek(Position position) {
  ring_->seek(position);
}
double Loader::wait_seconds() const {
  return ring_->wait_seconds();
}

}  // namespace lockstep::runtime::data
