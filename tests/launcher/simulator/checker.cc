#include "tests/launcher/simulator/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace lockstep::launcher::simulator {

void Checker::agent_began(AgentId agent, std::size_t host) {
  if (agents_.size() <= agent) agents_.resize(agent + 1);
  agents_[agent].host = host;
}

void Checker::detached(AgentId agent) {
  Agent& gone = agents_.at(agent);
  if (!std::exchange(gone.attached, false)) return;
  gone.owes_word = false;
  for (const auto& [generation, count] : gone.living) {
    auto& left = attached_living_[generation];
    if ((left -= count) == 0) attached_living_.erase(generation);
  }
}

void Checker::process_began(AgentId agent, std::uint32_t generation) {
  ++agents_.at(agent).living[generation];
  if (agents_[agent].attached) ++attached_living_[generation];
}

void Checker::process_ended(AgentId agent, std::uint32_t generation) {
  Agent& its = agents_.at(agent);
  if (--its.living[generation] == 0) its.living.erase(generation);
  if (its.attached && --attached_living_[generation] == 0) attached_living_.erase(generation);
}

std::size_t Checker::living(AgentId agent) const {
  std::size_t count = 0;
  for (const auto& [generation, living] : agents_.at(agent).living) count += living;
  return count;
}

std::size_t Checker::living_attached(std::uint32_t generation) const {
  std::size_t count = 0;
  for (const auto& [of, living] : attached_living_) count += of <= generation ? living : 0;
  return count;
}

void Checker::worker_ended(const TrueEnd& end) {
  if (generation_ == end.generation) ends_[end.rank] = end;
}

void Checker::check() {
  if (std::exchange(telling_, false)) check_told();
  expect(attached_living_.size() <= 1, [this] {
    return fmt::format("processes of generations {} and {} live at once",
                       attached_living_.begin()->first, attached_living_.rbegin()->first);
  });
}

void Checker::start_sent(AgentId agent, const HostJob& job) {
  if (generation_ != job.generation) {
    check_told();
    expect(!generation_ || job.generation > *generation_,
           [] { return std::string("a generation does not follow the one before it"); });
    generation_ = job.generation;
    world_ = job.world;
    learnt_.clear();
    ends_.clear();
    told_at_.reset();
  }
  const std::size_t host = agents_.at(agent).host;
  for (const Agent& other : agents_) {
    if (other.host != host) continue;
    expect(other.living.empty() || other.living.begin()->first >= job.generation, [&] {
      return fmt::format("Start of generation {} was sent to host {} where generation {} lives",
                         job.generation, host, other.living.begin()->first);
    });
  }
  agents_[agent].owes_word = true;
}

void Checker::given_up(AgentId agent) {
  // What TCP has to send again may come later than an interrupt waits for.
  const bool lossy = scenario_.hosts[agents_.at(agent).host].delays.lossy_per_mille > 0;
  expect(agents_[agent].struck || lossy, [&] {
    return fmt::format("host {} was given up, and nothing had befallen it", agents_[agent].host);
  });
}

void Checker::told_to_end(AgentId agent) {
  telling_ = true;
  if (!told_at_) told_at_ = queue_.now();
  agents_.at(agent).owes_word = false;
}

void Checker::said_gone(AgentId agent) {
  agents_.at(agent).owes_word = false;
}

void Checker::check_told() {
  for (const Agent& agent : agents_) {
    expect(!agent.attached || !agent.owes_word, [&] {
      return fmt::format("host {} was not told that generation {} ends", agent.host, *generation_);
    });
  }
}

void Checker::failure_learnt(AgentId agent, const Ended& ended, Time slack) {
  const auto end = ends_.find(ended.rank);
  if (end == ends_.end() || end->second.agent != agent) return;
  if (ended.code == 0 && ended.signal == 0) return;
  // An agent that was stopped saw it late, and can say only when it saw it.
  const Time seen = Time(ended.time_ns) - scenario_.hosts[agents_.at(agent).host].clock_offset;
  learnt_.push_back({.rank = ended.rank,
                     .at = end->second.at,
                     .slack = slack + (seen - end->second.at),
                     .by_itself = end->second.by_itself});
}

// A line is "GENERATION RANK NUMBER\n".
void Checker::shown(const Output& output) {
  unsigned generation = 0, rank = 0;
  unsigned long long number = 0;
  const int read =
      std::sscanf(output.bytes.c_str(), "%u %u %llu", &generation, &rank, &number);  // NOLINT
  expect(read == 3 && rank == output.rank && generation_ == generation, [&] {
    return fmt::format("a line of rank {} of generation {} was shown as one of rank {} of {}", rank,
                       generation, output.rank, generation_.value_or(0));
  });
  std::uint64_t& last = shown_[std::uint64_t{generation} << 32 | rank];
  expect(number == last + 1, [&] {
    return fmt::format("line {} of rank {} of generation {} was shown after line {}", number, rank,
                       generation, last);
  });
  last = number;
}

void Checker::finished(const Outcome& outcome) {
  if (generation_) check_told();
  switch (outcome.status) {
    case Status::kDone: {
      const bool all = ends_.size() == world_ && std::ranges::all_of(ends_, [](const auto& end) {
                         return end.second.code == 0 && end.second.signal == 0;
                       });
      expect(outcome.code == 0 && all,
             [] { return std::string("a job is done that not all workers ended well"); });
      break;
    }
    case Status::kInterrupted:
      expect(outcome.code == kExitInterrupted && interrupted_,
             [] { return std::string("a job was interrupted that nobody interrupted"); });
      break;
    case Status::kPreempted:
      expect(outcome.code == kExitPreempted && asked_,
             [] { return std::string("a job was preempted that nobody asked to end"); });
      break;
    case Status::kFailed:
      check_failure(outcome);
  }
}

void Checker::check_failure(const Outcome& outcome) {
  expect(outcome.code != 0 && (outcome.culprit || !outcome.unreached.empty()),
         [] { return std::string("a job failed and nobody is named, or with code 0"); });
  if (outcome.code == kExitNoProgress) {
    expect(outcome.restarts + 1 >= 3,
           [] { return std::string("less than three attempts, and it is called hopeless"); });
    return;
  }
  if (outcome.source != ExitSource::kWorker) return;
  const std::uint32_t rank = outcome.culprit->rank.value_or(world_);
  const auto culprit = std::ranges::find(learnt_, rank, &Learnt::rank);
  expect(culprit != learnt_.end(),
         [&] { return fmt::format("rank {} is blamed and did not fail", rank); });
  if (culprit == learnt_.end()) return;
  // A clock that is misjudged may put the end of one that we ended before the cause.
  expect(culprit->by_itself || culprit->at <= *told_at_ + culprit->slack, [&] {
    return fmt::format("rank {} is blamed, which ended because it was told to", rank);
  });
  const TrueEnd& end = ends_.at(rank);
  expect(outcome.code == (end.signal != 0 ? 128 + end.signal : end.code), [&] {
    return fmt::format("code {} where rank {} ended with {}, signal {}", outcome.code, rank,
                       end.code, end.signal);
  });
  for (const Learnt& other : learnt_) {
    expect(!other.by_itself || culprit->at <= other.at + culprit->slack + other.slack, [&] {
      return fmt::format("rank {} is blamed, and rank {} failed {:.3f} s before", rank, other.rank,
                         std::chrono::duration<double>(culprit->at - other.at).count());
    });
  }
}

}  // namespace lockstep::launcher::simulator
