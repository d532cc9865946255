#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "topology/cpu_family.h"
#include "topology/probe/processors.h"
#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kCpus = "/sys/devices/system/cpu";
constexpr std::size_t kLongestCpuinfo = std::size_t{16} << 20;  // 2 KiB a CPU of 8,192

struct Counted {
  std::set<std::string> sockets, cores;
  int threads = 0;

  void give(Cpu& cpu) const {
    if (threads > 0) cpu.threads = threads;
    if (!sockets.empty()) cpu.sockets = static_cast<int>(sockets.size());
    if (!cores.empty()) cpu.cores = static_cast<int>(cores.size());
  }
};

// What one block of /proc/cpuinfo says; blocks end at blank lines.
struct Block {
  std::string socket, core;
  bool processor = false;
};

void close_block(Block& block, Counted& counted) {
  if (block.processor) {
    ++counted.threads;
    if (!block.socket.empty()) counted.sockets.insert(block.socket);
    if (!block.core.empty()) counted.cores.insert(block.socket + "/" + block.core);
  }
  block = {};
}

std::optional<int> small(std::string_view text) {
  const auto value = parse_integer(text);
  if (!value || *value < 0 || *value > 0xffff) return std::nullopt;
  return static_cast<int>(*value);
}

void take_line(std::string_view key, std::string_view value, Cpu& cpu, Block& block) {
  if (key == "processor") {
    block.processor = parse_integer(value).has_value();
  } else if (key == "physical id") {
    block.socket = value;
  } else if (key == "core id") {
    block.core = value;
  } else if (key == "vendor_id") {
    cpu.architecture = "x86_64";
    cpu.vendor = value;
  } else if (key == "CPU implementer") {
    cpu.architecture = "arm64";
    cpu.vendor = value;
  } else if (key == "cpu" && value.starts_with("POWER")) {
    cpu.architecture = "ppc64";
    cpu.vendor = "IBM";
    cpu.model = value;
  } else if (key == "model name") {
    cpu.model = value;
  } else if (key == "cpu family" && !cpu.family) {
    if (const auto family = small(value)) cpu.family = nccl_family(*family);
  } else if (key == "model" && !cpu.model_number) {
    cpu.model_number = small(value);
  }
}

// False where it cannot be read.
bool read_cpuinfo(const FileTree& tree, Cpu& cpu) {
  const FileText file = tree.read("/proc/cpuinfo", kLongestCpuinfo);
  if (file.status != FileStatus::read) return false;
  Counted counted;
  Block block;
  std::string_view text = file.text;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t colon = line.find(':');
    if (trimmed(line).empty())
      close_block(block, counted);
    else if (colon != std::string_view::npos)
      take_line(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)), cpu, block);
  }
  close_block(block, counted);
  counted.give(cpu);
  return true;
}

// Cores are told apart by the threads they share: core ids repeat on packages of several dies.
bool read_topology(const FileTree& tree, Cpu& cpu) {
  Counted counted;
  for (const std::string& name : tree.list(kCpus)) {
    if (!name.starts_with("cpu") || !parse_integer(std::string_view(name).substr(3))) continue;
    const std::string folder = std::string(kCpus) + "/" + name + "/topology";
    const auto package = read_value(tree, folder + "/physical_package_id");
    auto siblings = read_value(tree, folder + "/core_cpus_list");
    if (!siblings) siblings = read_value(tree, folder + "/thread_siblings_list");
    if (!package && !siblings) continue;  // offline
    ++counted.threads;
    // -1: firmware gives no ids; one socket then, as Linux itself takes it.
    if (package) counted.sockets.insert(*package);
    if (siblings) counted.cores.insert(*siblings);
  }
  counted.give(cpu);
  return counted.threads > 0;
}

}  // namespace

void read_cpu(const FileTree& tree, Machine& machine) {
  if (!read_cpuinfo(tree, machine.cpu))
    machine.findings.push_back(unreadable("the processor's vendor and model", "/proc/cpuinfo"));
  if (!read_topology(tree, machine.cpu) && !machine.cpu.threads)
    machine.findings.push_back(unreadable("the number of CPUs", kCpus));
}

}  // namespace lockstep::topology
