#include "topology/cluster_aspects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep::topology {
namespace {

std::string gpu_count(const Machine& host) {
  return fmt::format("{} GPUs", host.gpus.size());
}

// Each product once, with its number: "8 x NVIDIA H100 80GB HBM3".
std::string gpu_products(const Machine& host) {
  std::map<std::string, int> count;
  for (const Gpu& gpu : host.gpus) {
    if (gpu.name.empty()) return {};
    ++count[gpu.name];
  }
  std::string text;
  for (const auto& [name, times] : count)
    text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", times, name);
  return text;
}

std::string nic_count(const Machine& host) {
  const auto count = std::ranges::count(host.nics, false, &Nic::virtual_function);
  return fmt::format("{} adapters", count);
}

// The names of the adapters that `counts` holds of, in one order whatever the host's is.
template <typename Counts>
std::string nic_names(const Machine& host, Counts counts) {
  std::vector<std::string> names;
  for (const Nic& nic : host.nics) {
    if (nic.virtual_function || !counts(nic)) continue;
    names.push_back(nic.port.value_or(1) == 1 ? nic.name
                                              : fmt::format("{}:{}", nic.name, *nic.port));
  }
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  });
  return fmt::format("{}", fmt::join(names, ","));
}

std::string all_nics(const Machine& host) {
  return nic_names(host, [](const Nic&) { return true; });
}

// Those that are up; nothing where the host does not say of any.
std::string usable_nics(const Machine& host) {
  const bool said =
      std::ranges::any_of(host.nics, [](const Nic& nic) { return nic.state != NicState::unknown; });
  if (!said) return {};
  std::string names = nic_names(host, [](const Nic& nic) { return nic.state == NicState::active; });
  return names.empty() ? "none" : names;
}

}  // namespace

std::vector<Aspect> gpu_aspects() {
  return {{.code = "differing-gpu-count",
           .what = "numbers of GPUs",
           .severity = Severity::warning,
           .remedy = "look for a GPU that fell off the bus (dmesg, nvidia-smi) on the odd hosts, "
                     "or leave them out",
           .value = gpu_count},
          {.code = "differing-gpus",
           .what = "GPUs",
           .severity = Severity::warning,
           .remedy = "the slowest GPU sets the pace of a job: run it on hosts of one kind",
           .value = gpu_products}};
}

std::vector<Aspect> nic_aspects() {
  return {{.code = "differing-nic-count",
           .what = "numbers of network adapters",
           .severity = Severity::warning,
           .remedy = "look for an adapter that is missing on the odd hosts (lspci), or leave them "
                     "out",
           .value = nic_count},
          {.code = "differing-nic-names",
           .what = "names of network adapters",
           .severity = Severity::warning,
           .remedy = "set NCCL_IB_HCA and NCCL_SOCKET_IFNAME for each host, as lockstep does; one "
                     "list for all hosts would name adapters that some do not have",
           .value = all_nics},
          {.code = "differing-usable-nics",
           .what = "network adapters that are up",
           .severity = Severity::warning,
           .remedy = "bring up the adapters that are down on the odd hosts (cable, ibstat, ip "
                     "link)",
           .value = usable_nics}};
}

std::vector<Aspect> version_aspects() {
  return {{.code = "differing-gpu-driver",
           .what = "GPU driver versions",
           .severity = Severity::warning,
           .remedy = "install one driver on all hosts",
           .value = [](const Machine& host) { return host.system.gpu_driver; }},
          {.code = "differing-nccl",
           .what = "NCCL versions",
           .severity = Severity::error,
           .remedy = "install one NCCL on all hosts; ranks of two versions refuse each other",
           .value = [](const Machine& host) { return host.system.nccl; }},
          {.code = "differing-kernel",
           .what = "kernels",
           .severity = Severity::info,
           .remedy = "boot one kernel on all hosts",
           .value = [](const Machine& host) { return host.system.kernel; }}};
}

}  // namespace lockstep::topology
