#include "launcher/hosts/slurm.h"

#include <fmt/format.h>

#include <utility>

#include "launcher/hosts/host_collection.h"
#include "launcher/hosts/host_name.h"
#include "launcher/hosts/slurm_counts.h"
#include "topology/host_list.h"
#include "topology/readers/lines.h"

namespace lockstep::launcher {
namespace {

constexpr const char* kTasks = "SLURM_TASKS_PER_NODE";
constexpr const char* kEnd = "SLURM_JOB_END_TIME";

using Variable = Environment::const_iterator;

// The first of two names that is set and not empty.
Variable either(const Environment& environment, std::string_view name, std::string_view old_name) {
  for (const std::string_view candidate : {name, old_name}) {
    const Variable found = environment.find(candidate);
    if (found != environment.end() && !found->second.empty()) return found;
  }
  return environment.end();
}

std::vector<AllocatedHost> hosts_of(const Variable& list) {
  const LocatedText text(LocatedText::Kind::kValue, list->first, list->second);
  std::vector<std::string> names;
  try {
    names = topology::expand_host_list(list->second, kMostHosts);
  } catch (const topology::HostListError& error) {
    throw AllocationError(fmt::format("{}: {}", list->first, error.what()));
  }
  HostCollection hosts(text);
  for (const std::string& name : names) {
    // The list says only as a whole where a name comes from.
    hosts.add_new(read_host(text, {name, {}}), {}, "a job has each node once");
  }
  return hosts.take();
}

// Inside of a job step the counts are the step's, which may have fewer nodes than the job.
bool in_smaller_step(const Environment& environment, const Variable& list) {
  const Variable step = environment.find("SLURM_STEP_NODELIST");
  return step != environment.end() && step->second != list->second;
}

void add_tasks(Allocation& allocation, const Environment& environment, const Variable& list) {
  const Variable tasks = environment.find(kTasks);
  if (tasks == environment.end() || tasks->second.empty()) return;
  const auto counts = expand_slurm_counts({LocatedText::Kind::kValue, tasks->first, tasks->second});
  if (counts.size() != allocation.hosts.size()) {
    if (in_smaller_step(environment, list)) {
      allocation.notes.push_back(
          fmt::format("{}={} is a job step's and not used for the job's {} hosts", kTasks,
                      excerpt(tasks->second), allocation.hosts.size()));
      return;
    }
    throw AllocationError(fmt::format("{}={} is of {} hosts, but {}={} has {}", kTasks,
                                      excerpt(tasks->second), counts.size(), list->first,
                                      excerpt(list->second), allocation.hosts.size()));
  }
  for (std::size_t i = 0; i < counts.size(); ++i) allocation.hosts[i].slots = counts[i];
}

void add_end(Allocation& allocation, const Environment& environment) {
  const Variable end = environment.find(kEnd);
  if (end == environment.end()) return;
  allocation.end_time = topology::parse_number<std::int64_t>(end->second);
  if (!allocation.end_time) {
    allocation.notes.push_back(fmt::format("{}={} is not used: seconds since 1970 were expected",
                                           kEnd, excerpt(end->second)));
  }
}

}  // namespace

std::optional<Allocation> slurm_allocation(const Environment& environment) {
  const Variable job = either(environment, "SLURM_JOB_ID", "SLURM_JOBID");
  const Variable list = either(environment, "SLURM_JOB_NODELIST", "SLURM_NODELIST");
  if (job == environment.end() || list == environment.end()) return std::nullopt;
  Allocation allocation{.source = fmt::format("Slurm job {}", excerpt(job->second)),
                        .origin = Allocation::Origin::kBatchSystem,
                        .start = Allocation::Start::kSrun,
                        .hosts = hosts_of(list),
                        .job_id = job->second,
                        .end_time = std::nullopt,
                        .notes = {}};
  add_tasks(allocation, environment, list);
  add_end(allocation, environment);
  return allocation;
}

}  // namespace lockstep::launcher
