#include "launcher/agent/binding.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

topology::CpuSet both(const topology::CpuSet& a, const topology::CpuSet& b) {
  topology::CpuSet set;
  for (const int cpu : a.cpus()) {
    if (b.contains(cpu)) set.add(cpu);
  }
  return set;
}

std::vector<topology::CpuSet> shares(const topology::CpuSet& allowed, std::uint32_t workers) {
  std::vector<topology::CpuSet> sets(workers);
  const std::vector<int> cpus = allowed.cpus();
  if (cpus.size() < workers) return sets;
  for (std::size_t rank = 0; rank < workers; ++rank) {
    const std::size_t begin = rank * cpus.size() / workers;
    const std::size_t end = (rank + 1) * cpus.size() / workers;
    for (std::size_t i = begin; i < end; ++i) sets[rank].add(cpus[i]);
  }
  return sets;
}

std::vector<topology::CpuSet> blocks_of_nodes(const BindingRequest& request,
                                              const topology::Machine& machine) {
  std::vector<topology::CpuSet> nodes;
  for (const topology::NumaNode& node : machine.numa) {
    topology::CpuSet usable = both(node.cpus, request.allowed);
    if (!usable.empty()) nodes.push_back(std::move(usable));
  }
  std::vector<topology::CpuSet> sets(request.workers);
  if (nodes.empty()) return sets;
  for (std::size_t rank = 0; rank < request.workers; ++rank) {
    sets[rank] = nodes[rank * nodes.size() / request.workers];
  }
  return sets;
}

std::vector<topology::CpuSet> nodes_of_gpus(const BindingRequest& request,
                                            const topology::Machine& machine) {
  std::vector<topology::CpuSet> sets(request.workers);
  for (std::size_t rank = 0; rank < request.workers && rank < request.gpus.size(); ++rank) {
    if (!request.gpus[rank]) continue;
    const auto& near = machine.gpus[static_cast<std::size_t>(*request.gpus[rank])].numa;
    for (const topology::NumaNode& node : machine.numa) {
      if (near == node.id) sets[rank] = both(node.cpus, request.allowed);
    }
  }
  return sets;
}

std::optional<int> gpu_named(std::string_view word, const topology::Machine& machine) {
  int index = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  if (error == std::errc() && end == word.data() + word.size()) {
    const bool there = index >= 0 && static_cast<std::size_t>(index) < machine.gpus.size();
    return there ? std::optional<int>(index) : std::nullopt;
  }
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const std::string& uuid = machine.gpus[i].uuid;
    if (!word.empty() && uuid.starts_with(word)) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bind> bind_named(std::string_view name) {
  if (name == "none") return Bind::kNone;
  if (name == "core") return Bind::kCore;
  if (name == "numa") return Bind::kNuma;
  if (name == "gpu") return Bind::kGpu;
  return std::nullopt;
}

topology::CpuSet allowed_cpu_set() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  checked(::sched_getaffinity(0, sizeof mask, &mask), "sched_getaffinity");
  topology::CpuSet set;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) set.add(cpu);
  }
  return set;
}

std::vector<topology::CpuSet> bindings(const BindingRequest& request,
                                       const topology::Machine& machine) {
  switch (request.bind) {
    case Bind::kCore:
      return shares(request.allowed, request.workers);
    case Bind::kNuma:
      return blocks_of_nodes(request, machine);
    case Bind::kGpu:
      return nodes_of_gpus(request, machine);
    default:
      return std::vector<topology::CpuSet>(request.workers);
  }
}

std::vector<std::optional<int>> gpus_of_workers(std::optional<std::string_view> visible,
                                                const topology::Machine& machine,
                                                std::uint32_t workers) {
  std::vector<std::optional<int>> gpus(workers);
  for (std::size_t rank = 0; rank < workers; ++rank) {
    if (!visible) {
      if (rank < machine.gpus.size()) gpus[rank] = static_cast<int>(rank);
      continue;
    }
    if (visible->empty()) break;
    const std::string_view word = visible->substr(0, visible->find(','));
    gpus[rank] = gpu_named(word, machine);
    visible->remove_prefix(std::min(word.size() + 1, visible->size()));
  }
  return gpus;
}

}  // namespace lockstep::launcher
