#include "topology/probe/nvidia_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "topology/pci_tree.h"
#include "topology/pci_vendors.h"
#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

// The value of "Key:  value" in a file of such lines.
std::string keyed(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      return std::string(trimmed(line.substr(colon + 1)));
  }
  return {};
}

// The first word of a banner that is digits and dots: "... Kernel Module  535.104.05  Sat ...".
std::string version_in(std::string_view banner) {
  while (!banner.empty()) {
    const std::size_t end = banner.find_first_of(" \t\n");
    const std::string_view word = banner.substr(0, end);
    banner.remove_prefix(end == std::string_view::npos ? banner.size() : end + 1);
    if (word.find('.') != std::string_view::npos &&
        word.find_first_not_of("0123456789.") == std::string_view::npos)
      return std::string(word);
  }
  return {};
}

// DMA-BUF export of GPU memory: Linux 5.12 and the open kernel modules (facts of NCCL's own test
// need CUDA; this is the part a kernel shows).
bool has_dmabuf_kernel(const std::string& release) {
  int major = 0;
  int minor = 0;
  const char* const end = release.data() + release.size();
  const auto first = std::from_chars(release.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  std::from_chars(first.ptr + 1, end, minor);
  return major > 5 || (major == 5 && minor >= 12);
}

// NCCL looks at these three (the last since 2.23).
std::optional<bool> peer_memory(const FileTree& tree) {
  if (!tree.exists("/sys/kernel") && !tree.exists("/sys/module")) return std::nullopt;
  return tree.exists("/sys/kernel/mm/memory_peers/nv_mem/version") ||
         tree.exists("/sys/kernel/mm/memory_peers/nv_mem_nc/version") ||
         tree.exists("/sys/module/nvidia_peermem/version");
}

std::optional<bool> fabric_manager(const FileTree& tree, bool container) {
  if (tree.exists("/run/nvidia-fabricmanager/nv-fabricmanager.pid") ||
      tree.exists("/var/run/nvidia-fabricmanager/nv-fabricmanager.pid"))
    return true;
  bool saw_others = false;
  for (const std::string& name : tree.list("/proc")) {
    if (!parse_integer(name)) continue;
    const auto command = read_value(tree, "/proc/" + name + "/comm");
    if (!command) continue;
    if (*command == "nv-fabricmanage") return true;  // the kernel keeps 15 characters
    saw_others = true;
  }
  // A container shows its own processes only.
  if (container || !saw_others) return std::nullopt;
  return false;
}

void read_gpu(const FileTree& tree, Gpu& gpu) {
  if (!gpu.pci.address) return;
  const std::string folder = "/proc/driver/nvidia/gpus/" + to_string(*gpu.pci.address);
  if (const auto text = read_value(tree, folder + "/information")) {
    if (gpu.name.empty()) gpu.name = keyed(*text, "Model");
    if (gpu.uuid.empty()) gpu.uuid = keyed(*text, "GPU UUID");
  }
  // Of Grace machines: the node that is this GPU's own memory.
  if (const auto text = read_value(tree, folder + "/numa_status")) {
    const auto node = parse_integer(keyed(*text, "Node"));
    if (node && *node >= 0 && *node <= CpuSet::kMaxCpu) gpu.memory_numa = static_cast<int>(*node);
  }
}

}  // namespace

void read_nvidia_driver(const FileTree& tree, Machine& machine) {
  const bool nvidia =
      std::ranges::any_of(machine.gpus, [](const Gpu& gpu) { return gpu.pci.vendor == kNvidia; });
  if (!nvidia) return;
  System& system = machine.system;
  const auto banner = read_value(tree, "/proc/driver/nvidia/version");
  if (banner) system.gpu_driver = version_in(*banner);
  if (system.gpu_driver.empty())
    system.gpu_driver = read_value(tree, "/sys/module/nvidia/version").value_or("");
  if (system.gpu_driver.empty())
    machine.findings.push_back(
        unreadable("the GPU driver's version", "/proc/driver/nvidia/version"));
  if (banner && !system.kernel.empty())
    system.dmabuf =
        has_dmabuf_kernel(system.kernel) && banner->find("Open Kernel Module") != std::string::npos;
  system.peer_memory = peer_memory(tree);
  if (!machine.nvswitches.empty())
    system.fabric_manager = fabric_manager(tree, system.container.value_or(false));
  for (Gpu& gpu : machine.gpus) read_gpu(tree, gpu);
}

}  // namespace lockstep::topology
