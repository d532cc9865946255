#include "topology/merge/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "topology/merge/accounts.h"

namespace lockstep::topology::merging {
namespace {

template <typename Thing>
Accounts<Thing> accounts_of_all(const Recordings& recordings, Thing Machine::*member,
                                const std::string& where, std::vector<Finding>& findings) {
  Accounts<Thing> accounts(where, findings);
  for (std::size_t part = 0; part < recordings.parts.size(); ++part)
    accounts.add(recordings.parts[part].*member, recordings.sources[part]);
  return accounts;
}

void merge_name(Machine& into, const Recordings& recordings) {
  std::size_t named = 0;
  for (std::size_t part = 0; part < recordings.parts.size(); ++part) {
    const std::string& name = recordings.parts[part].name;
    if (name.empty()) continue;
    if (into.name.empty()) {
      into.name = name;
      named = part;
    } else if (name != into.name) {
      into.findings.push_back(
          {.severity = Severity::warning,
           .code = "different-hosts",
           .message =
               fmt::format("recordings of one host were expected, found \"{}\" by {} and "
                           "\"{}\" by {}",
                           into.name, recordings.sources[named], name, recordings.sources[part]),
           .where = into.name,
           .remedy = "give the recordings of one host only"});
    }
  }
}

Cpu merge_cpu(const Accounts<Cpu>& accounts) {
  Cpu cpu = accounts.first();
  accounts.agree(cpu, "the architecture", &Cpu::architecture);
  accounts.agree(cpu, "the CPU vendor", &Cpu::vendor);
  accounts.fill(cpu, &Cpu::model);
  accounts.fill(cpu, &Cpu::family);
  accounts.fill(cpu, &Cpu::model_number);
  accounts.agree(cpu, "the number of sockets", &Cpu::sockets);
  accounts.agree(cpu, "the number of cores", &Cpu::cores);
  accounts.agree(cpu, "the number of CPU threads", &Cpu::threads);
  return cpu;
}

NumaNode merge_node(const Accounts<NumaNode>& accounts) {
  NumaNode node = accounts.first();
  accounts.agree(node, "the CPUs", &NumaNode::cpus);
  accounts.fill(node, &NumaNode::memory);
  accounts.agree(node, "the socket", &NumaNode::socket);
  return node;
}

std::vector<NumaNode> merge_numa(const Recordings& recordings, std::vector<Finding>& findings) {
  std::vector<Accounts<NumaNode>> all;
  std::map<int, std::size_t> by_id;
  for (std::size_t part = 0; part < recordings.parts.size(); ++part) {
    for (const NumaNode& node : recordings.parts[part].numa) {
      const auto [found, is_new] = by_id.try_emplace(node.id, all.size());
      if (is_new) all.emplace_back(fmt::format("NUMA{}", node.id), findings);
      all[found->second].add(node, recordings.sources[part]);
    }
  }
  std::vector<NumaNode> nodes;
  nodes.reserve(all.size());
  for (const auto& accounts : all) nodes.push_back(merge_node(accounts));
  return nodes;
}

// Of what is set in several places the first counts: environment, the user's file, the host's.
int precedence(const Setting& setting) {
  if (setting.origin == "environment") return 0;
  return setting.origin == "/etc/nccl.conf" ? 2 : 1;
}

std::vector<Setting> merge_settings(const Accounts<System>& accounts) {
  std::vector<Setting> merged;
  for (const auto& account : accounts.all()) {
    for (const Setting& setting : account.thing->settings) {
      if (std::ranges::find(merged, setting) == merged.end()) merged.push_back(setting);
    }
  }
  std::ranges::stable_sort(merged, {}, precedence);
  return merged;
}

System merge_system(const Accounts<System>& accounts) {
  System system = accounts.first();
  accounts.agree(system, "the kernel", &System::kernel);
  accounts.fill(system, &System::kernel_command_line);
  accounts.agree(system, "the product", &System::product);
  for (const auto& account : accounts.all()) {
    if (system.provider == Provider::none) system.provider = account.thing->provider;
  }
  accounts.agree(system, "whether it is a virtual machine", &System::virtual_machine);
  accounts.fill(system, &System::container);
  accounts.agree(system, "the GPU driver", &System::gpu_driver);
  accounts.agree(system, "the NCCL version", &System::nccl);
  accounts.fill(system, &System::nccl_library);
  accounts.fill(system, &System::iommu_groups);
  accounts.agree(system, "whether peer memory is registered", &System::peer_memory);
  accounts.fill(system, &System::dmabuf);
  accounts.fill(system, &System::shared_memory);
  accounts.fill(system, &System::locked_memory);
  accounts.fill(system, &System::verbs_devices);
  accounts.fill(system, &System::fabric_manager);
  system.settings = merge_settings(accounts);
  return system;
}

bool knows_nodes(const Machine& machine) {
  const auto is_real = [](const auto& device) { return device.numa && *device.numa >= 0; };
  return std::ranges::any_of(machine.numa, [](const NumaNode& node) { return node.id >= 0; }) ||
         std::ranges::any_of(machine.gpus, is_real) || std::ranges::any_of(machine.nics, is_real);
}

template <typename Device>
void forget_node(std::vector<Device>& devices) {
  for (Device& device : devices) {
    if (device.numa && *device.numa < 0) device.numa.reset();
  }
}

}  // namespace

void merge_host(Machine& into, const Recordings& recordings) {
  merge_name(into, recordings);
  for (const Machine& part : recordings.parts)
    into.sources.insert(into.sources.end(), part.sources.begin(), part.sources.end());
  const std::string where = into.name.empty() ? "the host" : into.name;
  into.cpu = merge_cpu(accounts_of_all(recordings, &Machine::cpu, where, into.findings));
  into.numa = merge_numa(recordings, into.findings);
  into.system = merge_system(accounts_of_all(recordings, &Machine::system, where, into.findings));
}

void forget_unknown_nodes(std::span<Machine> parts) {
  if (std::ranges::none_of(parts, knows_nodes)) return;
  for (Machine& part : parts) {
    forget_node(part.gpus);
    forget_node(part.nics);
  }
}

}  // namespace lockstep::topology::merging
