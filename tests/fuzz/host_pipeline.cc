#include "tests/fuzz/host_pipeline.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_set>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/batch_files.h"
#include "launcher/hosts/placement.h"
#include "launcher/hosts/slurm_counts.h"
#include "launcher/hosts/ssh_destination.h"

namespace lockstep::launcher::test {
namespace {

void require(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

Allocation of_hostfile(const std::string& text, HostfileFormat format) {
  HostRequest request;
  request.hostfile = "hosts";
  request.format = format;
  return find_hosts(request, {}, [&](const std::string&, const std::string&) { return text; });
}

Allocation of_flag(const std::string& text) {
  HostRequest request;
  request.hosts = text;
  return find_hosts(request, {}, nullptr);
}

Allocation filtered(const std::string& text) {
  HostRequest request;
  request.hosts = "a:8,b:8,c,worker-0:4,worker-1:4";
  // One input in two is an exclusion; it follows from the input, which does the same each time.
  (text.size() % 2 == 0 ? request.include : request.exclude) = text;
  return find_hosts(request, {}, nullptr);
}

Allocation of_slurm(const std::string& list) {
  return find_hosts({}, {{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NODELIST", list}}, nullptr);
}

Allocation of_counts(const std::string& text) {
  (void)expand_slurm_counts({LocatedText::Kind::kValue, "COUNTS", text});
  return of_flag("a");
}

Allocation of_batch(const std::string& text, const char* variable) {
  return find_hosts({}, {{variable, "nodes"}},
                    [&](const std::string&, const std::string&) { return text; });
}

struct Pipeline {
  std::string_view name;
  Allocation (*read)(const std::string& text);
};
constexpr std::array kPipelines = {
    Pipeline{"hostfile",
             [](const std::string& text) { return of_hostfile(text, HostfileFormat::kByContent); }},
    Pipeline{"hostfile-openmpi",
             [](const std::string& text) { return of_hostfile(text, HostfileFormat::kOpenMpi); }},
    Pipeline{"hostfile-hydra",
             [](const std::string& text) { return of_hostfile(text, HostfileFormat::kHydra); }},
    Pipeline{"hostfile-deepspeed",
             [](const std::string& text) { return of_hostfile(text, HostfileFormat::kDeepSpeed); }},
    Pipeline{"hosts-flag", of_flag},
    Pipeline{"hosts-filter", filtered},
    Pipeline{"slurm-nodes", of_slurm},
    Pipeline{"slurm-counts", of_counts},
    Pipeline{"batch-names", [](const std::string& text) { return of_batch(text, "PBS_NODEFILE"); }},
    Pipeline{"batch-columns",
             [](const std::string& text) { return of_batch(text, "PE_HOSTFILE"); }},
};

void check(const Allocation& allocation) {
  require(!allocation.hosts.empty(), "an allocation has a host");
  require(allocation.hosts.size() <= kMostHosts, "an allocation has at most kMostHosts hosts");
  std::unordered_set<std::string_view> names;
  for (const AllocatedHost& host : allocation.hosts) {
    require(names.insert(host.name).second, "no host stands twice");
    require(!host.name.empty() && host.name.size() <= 255, "a name has 1 to 255 bytes");
    require(!ssh_destination(host).starts_with('-'), "no name is a flag to ssh");
    require(
        std::ranges::all_of(host.name + host.user, [](char c) { return c > ' ' && c < '\x7f'; }),
        "a name prints");
    require(!host.slots || (*host.slots >= 1 && *host.slots <= kMostSlots),
            "slots are 1 to kMostSlots");
    require(!host.max_slots || *host.slots <= *host.max_slots, "a maximum is not passed");
    require(!host.where.empty(), "a host says where it comes from");
  }
}

void place(const Allocation& allocation, const WorkerRequest& request) {
  try {
    const Placement placement = place_workers(allocation, request);
    std::uint32_t next = 0;
    for (const HostPlacement& host : placement.hosts) {
      require(host.first_rank == next && host.local_world >= 1, "ranks are contiguous a host");
      require(host.slots.size() == host.local_world, "each rank has a slot");
      next += host.local_world;
    }
    require(placement.world == next, "the world is all ranks");
    require(!request.total || placement.world == *request.total, "-n is the total");
  } catch (const PlacementError&) {
  }
}

}  // namespace

std::vector<std::string_view> host_pipelines() {
  std::vector<std::string_view> names;
  for (const Pipeline& pipeline : kPipelines) names.push_back(pipeline.name);
  return names;
}

bool run_host_pipeline(std::string_view pipeline, const std::string& text) {
  const auto found = std::ranges::find(kPipelines, pipeline, &Pipeline::name);
  Allocation allocation;
  try {
    allocation = found->read(text);
  } catch (const AllocationError&) {
    return false;
  }
  check(allocation);
  WorkerRequest request;
  place(allocation, request);
  request.total = 17;
  place(allocation, request);
  request.oversubscription = Oversubscription::kAllowed;
  request.gpus = GpuUse::kUsed;
  request.host_gpus.assign(allocation.hosts.size(), 4);
  place(allocation, request);
  return true;
}

}  // namespace lockstep::launcher::test
