#include "launcher/coordinator/attempt.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace lockstep::launcher {
namespace {

constexpr std::size_t kKeptErrors = std::size_t{8} << 10;

bool went_wrong(const Ended& ended) {
  return ended.code != 0 || ended.signal != 0;
}

}  // namespace

Attempt::Attempt(std::uint32_t generation, const JobPlan& plan,
                 const std::vector<std::size_t>& hosts)
    : generation_(generation) {
  for (const std::size_t host : hosts) {
    const std::uint32_t count = plan.hosts.at(host).workers;
    members_.push_back({host, world(), count});
    workers_.resize(workers_.size() + count, Worker{host, 0, std::nullopt, {}});
  }
}

Member* Attempt::member_on(std::size_t host) {
  const auto found = std::ranges::find(members_, host, &Member::host);
  return found == members_.end() ? nullptr : &*found;
}

bool Attempt::all_started() const {
  return std::ranges::all_of(workers_, [](const Worker& worker) { return worker.pid != 0; });
}

bool Attempt::all_gone() const {
  return std::ranges::all_of(members_, &Member::gone);
}

bool Attempt::all_drained() const {
  return std::ranges::all_of(members_, &Member::drained);
}

bool Attempt::has(std::size_t host, std::uint32_t rank) const {
  return rank < workers_.size() && workers_[rank].host == host;
}

void Attempt::printed(const Output& output) {
  if (output.stream != Stream::kErr) return;
  std::string& kept = workers_.at(output.rank).last_errors;
  kept += output.bytes;
  if (kept.size() > 2 * kKeptErrors) kept.erase(0, kept.size() - kKeptErrors);
}

std::optional<Attempt::Failure> Attempt::ended(const Ended& ended, const std::string& host_name,
                                               Stopping stopping, Time now) {
  Worker& worker = workers_.at(ended.rank);
  worker.ended = ended;
  if (!went_wrong(ended)) return std::nullopt;
  if (stopping == Stopping::kYes && (ended.signal == SIGTERM || ended.signal == SIGKILL)) {
    return std::nullopt;
  }
  Culprit culprit{ended.rank, host_name, worker.pid, how_it_ended(ended), {}, {}, {}};
  return Failure{.host = worker.host,
                 .wall_ns = ended.time_ns,
                 .at = now,
                 .culprit = std::move(culprit),
                 .code = ended.signal != 0 ? 128 + ended.signal : ended.code,
                 .source = ExitSource::kWorker,
                 .kind = Failure::Kind::kWorker};
}

const Attempt::Failure& Attempt::first_failure(const Clock& clock) const {
  const auto when = [&clock](const Failure& failure) {
    if (!failure.wall_ns) return failure.at;
    // However its clock was misjudged, it did not happen after we learnt of it.
    return std::min(clock(failure.host, *failure.wall_ns).value_or(failure.at), failure.at);
  };
  return *std::ranges::min_element(failures_, {}, when);
}

Outcome Attempt::outcome(const Clock& clock) const {
  const Failure& first = first_failure(clock);
  Outcome outcome{.status = Status::kFailed,
                  .code = first.code,
                  .source = first.source,
                  .culprit = first.culprit};
  Culprit& culprit = *outcome.culprit;
  if (culprit.rank) culprit.last_errors = workers_[*culprit.rank].last_errors;
  for (std::uint32_t rank = 0; rank < workers_.size(); ++rank) {
    if (rank == culprit.rank) continue;
    const auto same_rank = [rank](const Failure& f) { return f.culprit.rank == rank; };
    if (std::ranges::any_of(failures_, same_rank)) {
      culprit.failed_after.push_back(rank);
    } else if (!workers_[rank].ended || went_wrong(*workers_[rank].ended)) {
      culprit.ended_by_us.push_back(rank);
    }
  }
  return outcome;
}

bool Attempt::every_worker_ended_well() const {
  return std::ranges::all_of(
      workers_, [](const Worker& worker) { return worker.ended && !went_wrong(*worker.ended); });
}

}  // namespace lockstep::launcher
