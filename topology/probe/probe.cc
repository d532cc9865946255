#include "topology/probe/probe.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "topology/pci_vendors.h"
#include "topology/probe/directory_tree.h"
#include "topology/probe/live_host.h"
#include "topology/probe/nccl_library.h"
#include "topology/probe/nvml.h"
#include "topology/probe/read_tree.h"

namespace lockstep::topology {
namespace {

Environment environment_of_process() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::string home_of_user() {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return {};
  return found->pw_dir;
}

std::string home(const ProbeOptions& options, const Environment& environment) {
  if (!options.home.empty()) return options.home;
  if (options.root == "/") return home_of_user();
  const auto stated = environment.find("HOME");
  return stated == environment.end() ? std::string() : stated->second;
}

}  // namespace

Machine probe(const ProbeOptions& options) {
  const DirectoryTree tree(options.root);
  const Environment environment =
      options.environment ? *options.environment : environment_of_process();
  Machine machine = read_tree(tree);
  machine.sources = {"live"};
  if (options.root == "/") {
    if (tree.exists("/sys/devices/system/cpu/cpu0/topology")) read_hwloc(machine);
    read_addresses(machine);
    read_kernel(machine);
  }
  read_nccl_library(tree, environment, machine);
  read_nccl_settings(tree, environment, home(options, environment), machine);
  const bool nvidia =
      std::ranges::any_of(machine.gpus, [](const Gpu& gpu) { return gpu.pci.vendor == kNvidia; });
  if (nvidia) read_nvml(options.nvml_library, machine);
  return machine;
}

}  // namespace lockstep::topology
