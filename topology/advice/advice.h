// What NCCL should be told about a host, and why.
//
// Only what NCCL's own default would get wrong, or right by luck, is set: the advice for a plain
// healthy machine is empty. What somebody has set already is kept, judged and reported. Settings
// are a host's own: sisters in one cluster can need other values (topology/advice/hosts.h).
//
// Thread rule: values and pure functions. Sources: NCCL 2.28's documentation and behaviour; each
// rule in topology/advice/rules.h names its own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

enum class Confidence { low, medium, high };

// How a setting that was there before agrees with the advice.
enum class Standing {
  agrees,
  differs,   // from the advice, without harm that is certain
  harmful,   // whatever the machine, or on this one
  provider,  // the cloud provider's own business on such machines: left alone
  unjudged,  // nothing here speaks for or against it
};

struct Advice {
  std::string variable, value;
  std::string reason;                 // one sentence
  std::vector<std::string> evidence;  // what was seen, one fact each
  Confidence confidence = Confidence::high;
  // Set already on that host, by the launcher's environment, its own or a file. Then `origin` says
  // where, `standing` how it agrees, and `advised` what would have been set instead, if anything.
  bool kept = false;
  std::string origin;
  Standing standing = Standing::unjudged;
  std::string advised;

  bool operator==(const Advice&) const = default;
};

// A variable that was thought of and not set: what is not known, or who must say it.
struct Unset {
  std::string variable, reason;

  bool operator==(const Unset&) const = default;
};

// A NIC that a GPU's traffic goes through. A GPU may have several, and GPUs may share one.
struct GpuRail {
  int gpu = 0, nic = 0;    // positions in the machine's lists
  std::string nic_device;  // its name: "mlx5_0"
  PathKind kind = PathKind::unknown;

  bool operator==(const GpuRail&) const = default;
};

// An RDMA port that the job should not use.
struct LeftOut {
  int nic = 0;
  std::string nic_device;
  bool down = false;  // NCCL leaves it out by itself
  std::string reason;

  bool operator==(const LeftOut&) const = default;
};

struct HostAdvice {
  std::string host;
  std::string nccl;              // the version it was made for: "2.28"
  std::vector<Advice> settings;  // those to be set, then those kept
  std::vector<Unset> unset;
  std::vector<GpuRail> rails;  // by GPU; empty where it is not known or does not matter
  std::vector<LeftOut> left_out;
  std::vector<Finding> findings;
};

// What is known of a RoCE port's GID table, by NCCL's rule and by a better one.
struct GidFacts {
  int nic = 0;
  std::optional<int> nccl_index;  // what NCCL 2.21 and newer takes by itself
  std::optional<int> best_index;  // what it should take
  bool duplicate = false;         // both are of one address, on different interfaces
  std::string evidence;           // "GID 3 and 5 are both 10.1.2.3; 5 is of bond1, the port's own"
};

// Whether NICs of different rails reach each other, as far as the fabric is known.
enum class RailConnection { unknown, connected, isolated };

struct AdviceOptions {
  std::string nccl;       // "2.28"; empty: the version the machine has, else 2.28
  int hosts = 2;          // of the job; 1: what concerns the network between hosts is not needed
  std::vector<int> gpus;  // of the job; empty: all
  // The variables that the host's libnccl contains (topology/advice/nccl_library.h); nothing:
  // not known, the version decides.
  std::optional<std::vector<std::string>> known_variables;
  std::vector<GidFacts> gids;
  RailConnection rails = RailConnection::unknown;
  std::string rails_evidence;  // what says so, with the fabric's name; may be empty
  // Where the host's corrected topology will lie, if one is needed. Whoever starts the job writes
  // it there (`lockstep probe --format nccl-xml`).
  std::string topo_file = "nccl-topology.xml";
};

// REQUIRES: `paths` is of `machine`. Cost: rules are linear in devices and pairs.
// Errors: std::invalid_argument where options name no version of NCCL or no GPU of the machine.
[[nodiscard]] HostAdvice advise(const Machine& machine, const PathTable& paths,
                                const AdviceOptions& options);

[[nodiscard]] std::string_view to_string(Confidence confidence);
[[nodiscard]] std::string_view to_string(Standing standing);

}  // namespace lockstep::topology
