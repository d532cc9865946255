#include "launcher/agent/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "launcher/agent/worker_environment.h"
#include "launcher/process/system_call.h"
#include "launcher/program_search.h"

namespace lockstep::launcher {

SecretFile::SecretFile(const std::string& secret)
    : memory_(checked(::memfd_create("lockstep-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                      "memfd_create")) {
  const ssize_t written = checked(::write(memory_.get(), secret.data(), secret.size()), "write");
  if (static_cast<std::size_t>(written) != secret.size()) {
    throw SpawnError("the job's secret did not fit into memory");
  }
  checked(
      ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
      "fcntl(F_ADD_SEALS)");
}

UniqueFd SecretFile::open() const {
  const std::string path = "/proc/self/fd/" + std::to_string(memory_.get());
  return UniqueFd(checked(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open " + path));
}

namespace {

std::string search_path(const std::vector<std::string>& environment) {
  constexpr std::string_view kPath = "PATH=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(kPath)) return entry.substr(kPath.size());
  }
  return "/bin:/usr/bin";
}

// The program as this host has it.
std::string program_here(const HostJob& job) {
  if (job.program == Program::kUsers) {
    return job.file.find('/') != std::string::npos
               ? job.file
               : find_program(job.file, search_path(job.environment));
  }
  if (::access(job.file.c_str(), X_OK) == 0) return job.file;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "lockstep";
}

}  // namespace

Worker start_worker(const HostJob& job, std::uint32_t local_rank, const SecretFile& secret,
                    const WorkerSetting& setting) {
  Worker worker;
  worker.rank = job.first_rank + local_rank;
  const std::string log = log_file(job.run_folder, worker.rank);
  std::filesystem::create_directories(std::filesystem::path(log).parent_path());
  constexpr mode_t kOwnerOnly = 0600;
  worker.log = UniqueFd(checked(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kOwnerOnly), "open " + log));

  const UniqueFd nothing(checked(::open("/dev/null", O_RDONLY | O_CLOEXEC), "open /dev/null"));
  const UniqueFd own_secret = secret.open();
  Pipe out = make_pipe(), err = make_pipe();
  ProcessPlan plan;
  plan.file = program_here(job);
  plan.args = job.args;
  plan.environment =
      worker_environment(job, local_rank, {setting.threads, own_secret.get(), setting.job_id});
  plan.directory = job.directory;
  plan.cpus = setting.cpus;
  plan.in = nothing.get();
  plan.out = out.write.get();
  plan.err = err.write.get();
  plan.inherited = own_secret.get();
  worker.process = spawn(plan);

  set_nonblocking(out.read.get());
  set_nonblocking(err.read.get());
  const LeadOutput lead = worker.rank == 0 ? job.lead_output : LeadOutput::kLines;
  worker.streams[0] = {std::move(out.read), Stream::kOut, lead, {}};
  worker.streams[1] = {std::move(err.read), Stream::kErr, LeadOutput::kLines, {}};
  return worker;
}

}  // namespace lockstep::launcher
