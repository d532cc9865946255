#include "collectives/host/bridge.h"

#include <chrono>
#include <exception>
#include <utility>

namespace lockstep::collectives::host {

Bridge::Bridge(Parts parts) : parts_(std::move(parts)), thread_([this] { run(); }) {}

Bridge::~Bridge() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (!steps_.empty()) parts_.interrupt->raise("the communicator was destroyed");
  }
  added_.notify_all();
  parts_.control.wake();
  thread_.join();
}

void Bridge::add(Step step) {
  step.call.consumer.reset();
  const std::lock_guard lock(mutex_);
  steps_.push_back(std::move(step));
  added_.notify_all();
}

// The step stays in the queue until it is done, so that the destructor sees it.
std::optional<Bridge::Step> Bridge::next() {
  std::unique_lock lock(mutex_);
  added_.wait(lock, [this] { return !steps_.empty() || ending_; });
  if (steps_.empty()) return std::nullopt;
  return steps_.front();
}

void Bridge::run() {
  while (const std::optional<Step> step = next()) {
    try {
      if (!ranks_have_summed(step->sequence)) return;
      if (step->call.kind == Kind::broadcast) {
        parts_.hosts->broadcast(step->call, step->data);
      } else {
        parts_.hosts->all_reduce(step->call, step->data);
      }
    } catch (const std::exception& error) {
      if (!ending_ && !parts_.control.aborted()) parts_.abort(error.what());
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      steps_.pop_front();
    }
    parts_.control.sum(step->sequence);
  }
}

// False where it never will be so.
bool Bridge::ranks_have_summed(Sequence sequence) {
  Control& control = parts_.control;
  for (int rank = 0; rank < control.between_hosts(); ++rank) {
    while (!control.has_summed(rank, sequence)) {
      if (ending_ || control.aborted()) return false;
      const std::uint32_t ticket = control.prepare_to_sleep();
      control.want(Want::summed, rank, sequence);
      if (!control.has_summed(rank, sequence) && !ending_) {
        control.sleep(ticket, std::chrono::hours(1));
      }
      control.stay_awake();
    }
  }
  return true;
}

}  // namespace lockstep::collectives::host
