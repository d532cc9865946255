#include "topology/probe/system_facts.h"

#include <algorithm>
#include <limits>
#include <string>

#include "topology/probe/provider.h"
#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// On x86 the processor says whether a hypervisor is under it; elsewhere the firmware may.
std::optional<bool> virtual_machine(const FileTree& tree, const Firmware& firmware) {
  constexpr std::size_t kFirstBlock = 65536;
  const FileText cpuinfo = tree.read("/proc/cpuinfo", kFirstBlock);
  const std::size_t flags = cpuinfo.text.find("\nflags");
  if (flags != std::string::npos) {
    const std::string_view line =
        std::string_view(cpuinfo.text)
            .substr(flags + 1, cpuinfo.text.find('\n', flags + 1) - flags);
    return line.find(" hypervisor") != std::string_view::npos;
  }
  if (tree.exists("/sys/hypervisor/type")) return true;
  if (has_any(firmware.vendor, {"QEMU", "VMware", "Xen", "innotek", "KVM"}) ||
      has_any(firmware.product, {"Virtual Machine", "KVM", "Google Compute Engine"}))
    return true;
  return std::nullopt;
}

std::optional<bool> container(const FileTree& tree) {
  if (tree.exists("/.dockerenv") || tree.exists("/run/.containerenv") ||
      tree.exists("/run/systemd/container"))
    return true;
  const auto groups = read_value(tree, "/proc/1/cgroup");
  if (!groups) return std::nullopt;
  return has_any(*groups, {"docker", "kubepods", "containerd", "lxc", "libpod", "garden"});
}

// Bytes of "4096k" as mount options have it.
std::optional<std::uint64_t> mount_size(std::string_view text) {
  const auto number = leading_number(text);
  if (!number || *number < 0 || *number > 1e15) return std::nullopt;
  const std::size_t unit = text.find_first_not_of("0123456789");
  const char letter = unit == std::string_view::npos ? 'b' : text[unit];
  const int shift = letter == 'k' ? 10 : letter == 'm' ? 20 : letter == 'g' ? 30 : 0;
  return static_cast<std::uint64_t>(*number) << shift;
}

// The size of the tmpfs at /dev/shm. Without a size option it is half the memory: not stated here.
std::optional<std::uint64_t> shared_memory(const FileTree& tree) {
  const std::string mounts = read_value(tree, "/proc/mounts").value_or("");
  const std::size_t line = mounts.find(" /dev/shm tmpfs ");
  if (line == std::string::npos) return std::nullopt;
  const std::string_view options =
      std::string_view(mounts).substr(line, mounts.find('\n', line) - line);
  constexpr std::string_view kKey = "size=";
  const std::size_t size = options.find(kKey);
  if (size == std::string_view::npos) return std::nullopt;
  const std::string_view value = options.substr(size + kKey.size());
  return mount_size(value.substr(0, value.find_first_of(", ")));
}

// The soft limit of "Max locked memory  8388608  8388608  bytes".
std::optional<std::uint64_t> locked_memory(const FileTree& tree) {
  const std::string limits = read_value(tree, "/proc/self/limits").value_or("");
  constexpr std::string_view kKey = "Max locked memory";
  const std::size_t at = limits.find(kKey);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view value = trimmed(
      std::string_view(limits).substr(at + kKey.size(), limits.find('\n', at) - at - kKey.size()));
  if (value.starts_with("unlimited")) return std::numeric_limits<std::uint64_t>::max();
  const auto bytes = parse_integer(value.substr(0, value.find(' ')));
  if (!bytes || *bytes < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::optional<bool> verbs_devices(const FileTree& tree) {
  const auto names = tree.list("/dev/infiniband");
  if (names.empty() && tree.list("/dev").empty()) return std::nullopt;
  return std::ranges::any_of(names,
                             [](const std::string& name) { return name.starts_with("uverbs"); });
}

}  // namespace

void read_system(const FileTree& tree, Machine& machine) {
  System& system = machine.system;
  machine.name = read_value(tree, "/proc/sys/kernel/hostname").value_or("");
  system.kernel = read_value(tree, "/proc/sys/kernel/osrelease").value_or("");
  system.kernel_command_line = read_value(tree, "/proc/cmdline").value_or("");
  const Firmware firmware = read_firmware(tree);
  system.product = std::string(trimmed(firmware.vendor + " " + firmware.product));
  system.provider = provider_of(firmware);
  system.virtual_machine = virtual_machine(tree, firmware);
  system.container = container(tree);
  // An absent folder may be a kernel without IOMMU or a /sys that is hidden: not told apart.
  if (tree.exists("/sys/kernel/iommu_groups"))
    system.iommu_groups = static_cast<int>(tree.list("/sys/kernel/iommu_groups").size());
  system.shared_memory = shared_memory(tree);
  system.locked_memory = locked_memory(tree);
  system.verbs_devices = verbs_devices(tree);
}

}  // namespace lockstep::topology
