#include "collectives/host/thread_meeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "collectives/communicator.h"

namespace lockstep::collectives::host {

class ThreadGroup {
 public:
  ThreadGroup(int world, std::chrono::nanoseconds deadline)
      : deadline_(deadline), requests_(static_cast<std::size_t>(world)) {}

  Segments exchange(int rank, const SegmentRequest& request) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    requests_[static_cast<std::size_t>(rank)] = request;
    if (std::ranges::all_of(requests_, [](const auto& r) { return r.has_value(); })) {
      end_round();
      ended_.notify_all();
    } else if (!ended_.wait_for(lock, deadline_, [&] { return round_ != round; })) {
      throw CollectiveError(missing(request));
    }
    if (!error_.empty()) throw CollectiveError(error_);
    return segments_;
  }

  [[nodiscard]] int world() const { return static_cast<int>(requests_.size()); }
  [[nodiscard]] std::chrono::nanoseconds deadline() const { return deadline_; }

 private:
  void end_round() {
    std::vector<SegmentRequest> all;
    std::vector<std::string> names;
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      all.push_back(*std::exchange(requests_[r], std::nullopt));
      names.push_back(fmt::format("rank {}", r));
    }
    error_ = disagreement(all, names);
    segments_.clear();
    if (error_.empty()) {
      const std::size_t copies = all[0].sharing == engine::Sharing::host ? 1 : all.size();
      for (std::size_t i = 0; i < copies; ++i) {
        segments_.push_back(Segment::in_process(all[0].bytes));
      }
    }
    ++round_;
  }

  std::string missing(const SegmentRequest& request) const {
    std::vector<std::string> ranks;
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      if (!requests_[r]) ranks.push_back(fmt::format("rank {}", r));
    }
    return fmt::format("shared memory {}: {} did not ask for it within {} s", request.text(),
                       fmt::join(ranks, ", "), std::chrono::duration<double>(deadline_).count());
  }

  const std::chrono::nanoseconds deadline_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::uint64_t round_ = 0;
  std::vector<std::optional<SegmentRequest>> requests_;
  // Of the last round. The next one cannot end before all ranks have taken these.
  Segments segments_;
  std::string error_;
};

namespace {

class ThreadMeeting final : public Meeting {
 public:
  ThreadMeeting(std::shared_ptr<ThreadGroup> group, int rank)
      : group_(std::move(group)), rank_(rank) {}
  Segments exchange(const SegmentRequest& request) override {
    return group_->exchange(rank_, request);
  }

 private:
  std::shared_ptr<ThreadGroup> group_;
  int rank_;
};

}  // namespace

int world_of(const ThreadGroup& group) {
  return group.world();
}
std::chrono::nanoseconds deadline_of(const ThreadGroup& group) {
  return group.deadline();
}

std::shared_ptr<ThreadGroup> make_thread_group(int world, std::chrono::nanoseconds deadline) {
  return std::make_shared<ThreadGroup>(world, deadline);
}

std::unique_ptr<Meeting> make_thread_meeting(std::shared_ptr<ThreadGroup> group, int rank) {
  return std::make_unique<ThreadMeeting>(std::move(group), rank);
}

}  // namespace lockstep::collectives::host
