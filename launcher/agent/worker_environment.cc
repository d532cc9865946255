#include "launcher/agent/worker_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "launcher/process/job_processes.h"

namespace lockstep::launcher {
namespace {

// Variables by which other launchers tell a process its place: Open MPI, PMIx, PMI (MPICH, Intel),
// MVAPICH, PALS, JSM, ALPS, Horovod, Slurm. SLURM_NTASKS and its like describe the job, not the
// process, and stay.
constexpr std::array<std::string_view, 42> kForeign = {"OMPI_COMM_WORLD_RANK",
                                                       "OMPI_COMM_WORLD_SIZE",
                                                       "OMPI_COMM_WORLD_LOCAL_RANK",
                                                       "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                       "OMPI_COMM_WORLD_NODE_RANK",
                                                       "OMPI_UNIVERSE_SIZE",
                                                       "PMIX_RANK",
                                                       "PMIX_NAMESPACE",
                                                       "PMIX_LOCAL_RANK",
                                                       "PMI_RANK",
                                                       "PMI_SIZE",
                                                       "PMI_FD",
                                                       "PMI_PORT",
                                                       "MPI_LOCALRANKID",
                                                       "MPI_LOCALNRANKS",
                                                       "MV2_COMM_WORLD_RANK",
                                                       "MV2_COMM_WORLD_SIZE",
                                                       "MV2_COMM_WORLD_LOCAL_RANK",
                                                       "MV2_COMM_WORLD_LOCAL_SIZE",
                                                       "PALS_RANKID",
                                                       "PALS_LOCAL_RANKID",
                                                       "PALS_LOCAL_SIZE",
                                                       "PALS_NODEID",
                                                       "JSM_NAMESPACE_RANK",
                                                       "JSM_NAMESPACE_SIZE",
                                                       "JSM_NAMESPACE_LOCAL_RANK",
                                                       "JSM_NAMESPACE_LOCAL_SIZE",
                                                       "ALPS_APP_PE",
                                                       "HOROVOD_RANK",
                                                       "HOROVOD_SIZE",
                                                       "HOROVOD_LOCAL_RANK",
                                                       "HOROVOD_LOCAL_SIZE",
                                                       "HOROVOD_CROSS_RANK",
                                                       "HOROVOD_CROSS_SIZE",
                                                       "SLURM_PROCID",
                                                       "SLURM_LOCALID",
                                                       "SLURM_NODEID",
                                                       "SLURM_GTIDS",
                                                       "LOCAL_SIZE",
                                                       "CROSS_RANK",
                                                       "CROSS_SIZE",
                                                       "PET_NODE_RANK"};

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

class Environment {
 public:
  explicit Environment(const std::vector<std::string>& entries) : entries_(entries) {}

  void remove(std::string_view name) {
    std::erase_if(entries_, [name](const std::string& e) { return name_of(e) == name; });
  }
  template <typename Value>
  void set(std::string_view name, const Value& value) {
    remove(name);
    entries_.push_back(fmt::format("{}={}", name, value));
  }
  template <typename Value>
  void set_if_unset(std::string_view name, const Value& value) {
    const auto has_name = [name](const std::string& e) { return name_of(e) == name; };
    if (std::ranges::none_of(entries_, has_name)) set(name, value);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(entries_); }

 private:
  std::vector<std::string> entries_;
};

void set_torchrun_variables(Environment& environment, const HostJob& job,
                            std::uint32_t local_rank) {
  const std::uint32_t rank = job.first_rank + local_rank;
  environment.set("RANK", rank);
  environment.set("WORLD_SIZE", job.world);
  environment.set("LOCAL_RANK", local_rank);
  environment.set("LOCAL_WORLD_SIZE", job.local_world);
  environment.set("GROUP_RANK", job.host_rank);
  environment.set("GROUP_WORLD_SIZE", job.hosts);
  environment.set("ROLE_NAME", "default");
  environment.set("ROLE_RANK", rank);
  environment.set("ROLE_WORLD_SIZE", job.world);
  environment.set("MASTER_ADDR", job.master_address);
  environment.set("MASTER_PORT", job.master_port);
  environment.set("TORCHELASTIC_RESTART_COUNT", job.generation);
  environment.set("TORCHELASTIC_MAX_RESTARTS", job.max_restarts);
  environment.set("TORCHELASTIC_RUN_ID", job.run_id);
  environment.set("TORCHELASTIC_ERROR_FILE", error_file(job.run_folder, rank));
}

void set_lockstep_variables(Environment& environment, const HostJob& job,
                            std::uint32_t local_rank) {
  environment.set("LOCKSTEP_RUN", job.run_folder);
  environment.set("LOCKSTEP_STORE", job.store_address);
  environment.set("LOCKSTEP_RANK", job.first_rank + local_rank);
  environment.set("LOCKSTEP_WORLD", job.world);
  environment.set("LOCKSTEP_LOCAL_RANK", local_rank);
  environment.set("LOCKSTEP_LOCAL_WORLD", job.local_world);
  environment.set("LOCKSTEP_HOST_RANK", job.host_rank);
  environment.set("LOCKSTEP_INTERFACE", job.interface);
  environment.set("LOCKSTEP_GENERATION", job.generation);
  environment.remove("LOCKSTEP_PROGRESS");
  if (job.lead_output == LeadOutput::kAtOnce && job.first_rank + local_rank == 0) {
    environment.set("LOCKSTEP_PROGRESS", "terminal");
  }
}

}  // namespace

std::string error_file(std::string_view run_folder, std::uint32_t rank) {
  return fmt::format("{}/log/rank{}.error.json", run_folder, rank);
}

std::string log_file(std::string_view run_folder, std::uint32_t rank) {
  return fmt::format("{}/log/rank{}.log", run_folder, rank);
}

std::vector<std::string> worker_environment(const HostJob& job, std::uint32_t local_rank,
                                            const HostFacts& facts) {
  Environment environment(job.environment);
  for (const std::string_view name : kForeign) environment.remove(name);
  set_torchrun_variables(environment, job, local_rank);
  set_lockstep_variables(environment, job, local_rank);
  environment.set("LOCKSTEP_SECRET_FD", facts.secret_fd);
  environment.set(kJobVariable, facts.job_id);
  environment.set_if_unset("OMP_NUM_THREADS", facts.threads);
  environment.set_if_unset("PYTHONUNBUFFERED", "1");
  environment.set_if_unset("GLOO_SOCKET_IFNAME", job.interface);
  environment.set_if_unset("NCCL_SOCKET_IFNAME", job.interface);
  return environment.take();
}

}  // namespace lockstep::launcher
