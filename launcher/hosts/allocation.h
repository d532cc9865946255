// Where the hosts of a job come from: flags, a hostfile, a batch system, or this machine.
//
// The order, of which the first that applies wins: --hosts, --hostfile; Slurm, PBS, LSF, SGE,
// Cobalt, LoadLeveler, by the variables that they set for a job; this machine. --include and
// --exclude then choose among the hosts and devices of whatever it was. docs/launching.md has it
// for users.
//
// Thread rule: values and pure functions, but for the reader of files, which is given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

inline constexpr std::size_t kMostHosts = 65'536;
inline constexpr std::uint32_t kMostSlots = 65'536;  // of a host, and workers of a job

// One sentence or two: where (file:line:column, a flag, a variable), what was expected, what was
// found, what to do. The launcher answers it with exit code 2.
class AllocationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Which of a host's devices (GPUs, else slots, counted from 0) a job may use.
struct DeviceChoice {
  enum class Kind { kAll, kOnly, kAllBut } kind = Kind::kAll;
  std::vector<std::uint32_t> indices;  // in the order given, none twice; empty for kAll

  bool operator==(const DeviceChoice&) const = default;
};

struct AllocatedHost {
  std::string name;                        // as given: a name, an IPv4 or an IPv6 address
  std::optional<std::uint32_t> slots;      // as stated, at least 1; none stated: no limit
  std::optional<std::uint32_t> max_slots;  // more than this not even oversubscribed
  std::string user;                        // empty: whoever ssh takes
  std::uint16_t port = 0;                  // of its sshd; 0: whatever ssh takes
  DeviceChoice devices;
  std::string where;  // "hosts:3:1", "--hosts", "SLURM_JOB_NODELIST"
};

struct Allocation {
  enum class Origin { kFlag, kHostfile, kBatchSystem, kThisMachine };
  enum class Start { kLocal, kSsh, kSrun };  // how agents are started there

  std::string source;  // "--hosts", "hostfile F", "Slurm job 12", "this machine"
  Origin origin = Origin::kThisMachine;
  Start start = Start::kLocal;
  std::vector<AllocatedHost> hosts;      // at least one, no name twice; ranks follow this order
  std::string job_id;                    // the batch system's; empty: it has none
  std::optional<std::int64_t> end_time;  // when it ends the job, seconds since 1970
  std::vector<std::string> notes;        // what was seen and not used: a line each, for the user
};

enum class HostfileFormat { kByContent, kOpenMpi, kHydra, kDeepSpeed };

// "openmpi", "hydra", "deepspeed"; nothing for another name.
[[nodiscard]] std::optional<HostfileFormat> hostfile_format(std::string_view name);

// The flags, as the user gave them.
struct HostRequest {
  std::optional<std::string> hosts;     // "a:8,user@b,[fe80::1%eth0]:4"
  std::optional<std::string> hostfile;  // a path
  HostfileFormat format = HostfileFormat::kByContent;
  std::optional<std::string> include, exclude;  // "NODE[:device,device]@NODE..."
  std::string this_host = "localhost";          // what this machine is called where it is the host
};

using Environment = std::map<std::string, std::string, std::less<>>;

// All of the file at a path; an AllocationError begins with `name`. read_host_file but in tests of
// other things.
using FileReader = std::function<std::string(const std::string& path, const std::string& name)>;

// Errors: AllocationError. Cost: linear in what is read.
[[nodiscard]] Allocation find_hosts(const HostRequest& request, const Environment& environment,
                                    const FileReader& read);

}  // namespace lockstep::launcher
