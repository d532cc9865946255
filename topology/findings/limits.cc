#include <fmt/format.h>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kSegmentsOfRank = 10 * kMegabyte;  // what NCCL needs a rank, about
constexpr std::uint64_t kDockerDefault = std::uint64_t{64} << 20;
// Registering the buffers of one communicator takes less; the default limits (64 KiB, 8 MiB) do
// not suffice.
constexpr std::uint64_t kEnoughLocked = std::uint64_t{1} << 30;

}  // namespace

std::vector<Finding> limits(const Machine& machine) {
  const System& system = machine.system;
  std::vector<Finding> found;
  const std::size_t gpus = machine.gpus.size();
  const bool is_short = system.shared_memory && (*system.shared_memory < gpus * kSegmentsOfRank ||
                                                 *system.shared_memory == kDockerDefault);
  if (gpus > 1 && is_short) {
    found.push_back(
        {.severity = Severity::warning,
         .code = "small-shared-memory",
         .message = fmt::format("/dev/shm has {} MB{}, NCCL needs about {} MB for {} ranks, and "
                                "data loaders more.",
                                *system.shared_memory / kMegabyte,
                                *system.shared_memory == kDockerDefault ? ", Docker's default" : "",
                                gpus * kSegmentsOfRank / kMegabyte, gpus),
         .where = "/dev/shm",
         .remedy = "Start the container with --shm-size=8g or --ipc=host; in Kubernetes mount an "
                   "emptyDir of medium Memory there."});
  }
  if (has_rdma(machine) && system.locked_memory && *system.locked_memory < kEnoughLocked) {
    found.push_back(
        {.severity = Severity::warning,
         .code = "low-locked-memory",
         .message = fmt::format("At most {} KiB of memory may be locked (RLIMIT_MEMLOCK): RDMA "
                                "cannot register its buffers.",
                                *system.locked_memory / 1024),
         .where = "RLIMIT_MEMLOCK",
         .remedy = "Set `ulimit -l unlimited` (limits.conf, LimitMEMLOCK= of the service, --ulimit "
                   "memlock=-1 of the container), or give CAP_IPC_LOCK."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
