#include "launcher/command/launch_hosts.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "launcher/command/command.h"
#include "launcher/hosts/host_file.h"
#include "launcher/hosts/ssh_destination.h"
#include "launcher/program_search.h"
#include "launcher/remote/ssh_command.h"
#include "launcher/visible_gpus.h"

namespace lockstep::launcher {
namespace {

std::string this_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

// Whether a host of the allocation is the one we run on, by its name: an address is reached as the
// user says.
bool is_here(const AllocatedHost& host) {
  if (!host.user.empty() || host.port != 0) return false;
  const std::string own = this_host();
  const std::string own_short = own.substr(0, own.find('.'));
  return host.name == "localhost" || host.name == own || host.name == own_short;
}

std::string numeric_address(const std::string& name) {
  in6_addr bytes{};
  const bool is_one = ::inet_pton(AF_INET, name.c_str(), &bytes) == 1 ||
                      ::inet_pton(AF_INET6, name.c_str(), &bytes) == 1;
  return is_one ? name : "";
}

Environment environment_map() {
  Environment map;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      map.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return map;
}

Allocation allocation_of(const LaunchOptions& options) {
  HostRequest request;
  request.hosts = options.hosts;
  request.hostfile = options.hostfile;
  request.include = options.include;
  request.exclude = options.exclude;
  request.this_host = this_host();
  if (options.hostfile_format) {
    const auto format = hostfile_format(*options.hostfile_format);
    if (!format) {
      throw UsageError(fmt::format("--hostfile-format {}: expected openmpi, hydra or deepspeed",
                                   *options.hostfile_format));
    }
    request.format = *format;
  }
  return find_hosts(request, environment_map(), read_host_file);
}

std::uint32_t gpus_here() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible_gpus(visible != nullptr ? std::optional<std::string_view>(visible) : std::nullopt,
                      "/dev");
}

std::string found(const std::string& program) {
  const char* path = std::getenv("PATH");
  try {
    return find_program(program, path != nullptr ? path : "/bin:/usr/bin");
  } catch (const ProgramNotFound& error) {
    throw UsageError(error.what());
  }
}

AgentCommand remote_agent(const AllocatedHost& host, Allocation::Start start,
                          const LaunchOptions& options, const std::filesystem::path& agent) {
  RemoteProgram program{agent, "lockstep-agent", {"--silence", "10000"}};
  if (!options.no_tune) program.args.emplace_back("--tune");
  AgentCommand command;
  command.nonce = make_nonce();
  if (start == Allocation::Start::kSrun) {
    command.args = srun_command(host.name, program, command.nonce);
  } else {
    command.args = ssh_command(options.ssh, ssh_destination(host), program, command.nonce,
                               std::chrono::seconds(std::llround(std::ceil(options.connect_s))));
  }
  command.file = found(command.args.front());
  return command;
}

// "N" or "MIN:MAX".
void choose_host_counts(const std::string& nnodes, JobPlan& plan) {
  if (nnodes.empty()) return;
  const std::size_t colon = nnodes.find(':');
  const auto number = [&nnodes](const std::string& text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0) {
      throw UsageError(
          fmt::format("--nnodes {}: expected N or MIN:MAX, whole numbers from 1 on", nnodes));
    }
    return value;
  };
  plan.least_hosts = number(nnodes.substr(0, colon));
  plan.most_hosts =
      colon == std::string::npos ? plan.least_hosts : number(nnodes.substr(colon + 1));
  if (plan.least_hosts > plan.most_hosts) {
    throw UsageError(fmt::format("--nnodes {}: the first number is the smaller one", nnodes));
  }
  if (plan.least_hosts > plan.hosts.size()) {
    throw UsageError(fmt::format("--nnodes {}: at least {} hosts are needed and there {} {}",
                                 nnodes, plan.least_hosts, plan.hosts.size() == 1 ? "is" : "are",
                                 plan.hosts.size()));
  }
}

}  // namespace

LaunchHosts choose_hosts(const LaunchOptions& options, LaunchTask::Kind kind) {
  try {
    LaunchHosts hosts;
    hosts.allocation = allocation_of(options);
    for (const std::string& note : hosts.allocation.notes) {
      fmt::print(stderr, "lockstep: {}\n", note);
    }
    WorkerRequest request;
    request.total = options.workers;
    request.per_host = options.per_host;
    if (options.oversubscribe) request.oversubscription = Oversubscription::kAllowed;
    request.gpus = kind == LaunchTask::Kind::kJob ? GpuUse::kNone : GpuUse::kPerhaps;
    if (hosts.allocation.hosts.size() == 1 && is_here(hosts.allocation.hosts.front())) {
      request.host_gpus = {gpus_here()};
    }
    hosts.placement = place_workers(hosts.allocation, request);
    if (!options.workers && !options.per_host) {
      fmt::print(stderr, "lockstep: {} worker{} ({}; -n gives another number)\n",
                 hosts.placement.world, hosts.placement.world == 1 ? "" : "s",
                 hosts.placement.reason);
    }
    return hosts;
  } catch (const AllocationError& error) {
    throw UsageError(error.what());
  } catch (const PlacementError& error) {
    throw UsageError(error.what());
  }
}

void add_hosts(const LaunchHosts& hosts, const LaunchOptions& options,
               const std::filesystem::path& agent, Launch& launch) {
  launch.ssh = options.ssh;
  const bool alone = hosts.allocation.origin == Allocation::Origin::kThisMachine;
  for (const HostPlacement& placed : hosts.placement.hosts) {
    const AllocatedHost& host = hosts.allocation.hosts[placed.host];
    launch.plan.hosts.push_back(
        {.name = host.name, .workers = placed.local_world, .address = numeric_address(host.name)});
    AgentCommand command;
    if (alone || is_here(host)) {
      command.file = agent;
      command.args = {"lockstep-agent"};
      if (!options.no_tune) command.args.emplace_back("--tune");
    } else {
      command = remote_agent(host, hosts.allocation.start, options, agent);
    }
    command.environment = launch.plan.job.environment;
    launch.agents.push_back(std::move(command));
  }
  choose_host_counts(options.nnodes, launch.plan);
}

std::string host_map(const LaunchHosts& hosts) {
  std::string map =
      fmt::format("{} worker{} on {} host{} ({})\n", hosts.placement.world,
                  hosts.placement.world == 1 ? "" : "s", hosts.placement.hosts.size(),
                  hosts.placement.hosts.size() == 1 ? "" : "s", hosts.allocation.source);
  for (const HostPlacement& placed : hosts.placement.hosts) {
    const AllocatedHost& host = hosts.allocation.hosts[placed.host];
    const std::string_view by =
        hosts.allocation.origin == Allocation::Origin::kThisMachine || is_here(host) ? "here"
        : hosts.allocation.start == Allocation::Start::kSrun                         ? "by srun"
                                                                                     : "by ssh";
    map += fmt::format("  {}  {}  ranks {}-{}  slots {}\n", host.name, by, placed.first_rank,
                       placed.first_rank + placed.local_world - 1, fmt::join(placed.slots, ","));
  }
  return map;
}

}  // namespace lockstep::launcher
