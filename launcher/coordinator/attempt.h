// One attempt at a job, a generation: the hosts that take part, how each rank fares, and whose
// failure counts.
//
// The failure that counts is the earliest, by the clocks of the agents that saw them; what fails
// after it is its chorus. Thread rule: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/coordinator/job_plan.h"
#include "launcher/coordinator/outcome.h"
#include "launcher/protocol/message.h"

namespace lockstep::launcher {

struct Member {
  std::size_t host = 0;  // of the plan
  std::uint32_t first_rank = 0;
  std::uint32_t workers = 0;
  bool gone = false;     // no process of the attempt is left there, or the host is lost
  bool drained = false;  // and all of its output has come
};

class Attempt {
 public:
  using Time = std::chrono::nanoseconds;  // the coordinator's

  struct Failure {
    std::size_t host = 0;
    std::optional<std::int64_t> wall_ns;  // by that host's clock
    Time at{};  // by ours: when we learnt of it, or last heard of the host
    Culprit culprit;
    int code = 1;
    ExitSource source = ExitSource::kWorker;
    enum class Kind { kWorker, kHost, kStart } kind = Kind::kWorker;
  };
  // A moment of a host's clock as one of ours, where that is known.
  using Clock = std::function<std::optional<Time>(std::size_t host, std::int64_t wall_ns)>;

  // Ranks are contiguous by host, in the order of `hosts` (indices into the plan).
  Attempt(std::uint32_t generation, const JobPlan& plan, const std::vector<std::size_t>& hosts);

  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  [[nodiscard]] std::uint32_t world() const { return static_cast<std::uint32_t>(workers_.size()); }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  // Null where the host takes no part.
  [[nodiscard]] Member* member_on(std::size_t host);
  [[nodiscard]] const Member& leader() const { return members_.front(); }
  [[nodiscard]] bool all_gone() const;
  [[nodiscard]] bool all_drained() const;

  // Of ranks: false where that host has no such rank.
  [[nodiscard]] bool has(std::size_t host, std::uint32_t rank) const;
  void started(const Started& started) { workers_.at(started.rank).pid = started.pid; }
  [[nodiscard]] bool all_started() const;
  void printed(const Output& output);
  // A failure where it is one; `stopping`: our own signals are on their way, and what they end has
  // not failed.
  enum class Stopping { kNo, kYes };
  [[nodiscard]] std::optional<Failure> ended(const Ended& ended, const std::string& host_name,
                                             Stopping stopping, Time now);

  void fail(Failure failure) { failures_.push_back(std::move(failure)); }
  [[nodiscard]] bool failed() const { return !failures_.empty(); }
  // REQUIRES: failed().
  [[nodiscard]] const Failure& first_failure(const Clock& clock) const;
  // The first failure with all that a report tells of it. REQUIRES: failed().
  [[nodiscard]] Outcome outcome(const Clock& clock) const;

  [[nodiscard]] bool every_worker_ended_well() const;

 private:
  struct Worker {
    std::size_t host = 0;
    std::int64_t pid = 0;
    std::optional<Ended> ended;
    std::string last_errors;  // the end of its standard error
  };

  std::uint32_t generation_;
  std::vector<Member> members_;
  std::vector<Worker> workers_;
  std::vector<Failure> failures_;
};

}  // namespace lockstep::launcher
