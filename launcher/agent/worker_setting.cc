#include "launcher/agent/worker_setting.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "launcher/agent/allowed_cpus.h"
#include "launcher/agent/binding.h"
#include "topology/probe/probe.h"

namespace lockstep::launcher {
namespace {

std::optional<std::string_view> value_in(const std::vector<std::string>& environment,
                                         std::string_view begin) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(begin)) return std::string_view(entry).substr(begin.size());
  }
  return std::nullopt;
}

std::vector<topology::CpuSet> sets_of(const HostJob& job, const HostProbe* probe) {
  const topology::Machine machine = job.bind == Bind::kCore ? topology::Machine{}
                                    : probe != nullptr      ? probe->machine()
                                                            : topology::probe();
  return bindings({.bind = job.bind,
                   .workers = job.local_world,
                   .allowed = allowed_cpu_set(),
                   .gpus = gpus_of_workers(value_in(job.environment, "CUDA_VISIBLE_DEVICES="),
                                           machine, job.local_world)},
                  machine);
}

}  // namespace

std::vector<WorkerSetting> worker_settings(const HostJob& job, const std::string& job_id,
                                           const HostProbe* probe) {
  constexpr std::uint32_t kLeast = 1;
  const std::uint32_t share = std::max(allowed_cpus() / job.local_world, kLeast);
  std::vector<WorkerSetting> settings(job.local_world, {.job_id = job_id, .threads = share});
  if (job.bind == Bind::kNone) return settings;
  const std::vector<topology::CpuSet> sets = sets_of(job, probe);
  for (std::size_t rank = 0; rank < settings.size(); ++rank) {
    settings[rank].cpus = sets[rank].cpus();
    if (settings[rank].cpus.empty()) continue;
    const auto sharers = static_cast<std::uint32_t>(std::ranges::count(sets, sets[rank]));
    const auto own = static_cast<std::uint32_t>(settings[rank].cpus.size()) / sharers;
    settings[rank].threads = std::max(own, kLeast);
  }
  return settings;
}

}  // namespace lockstep::launcher
