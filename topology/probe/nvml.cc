#include "topology/probe/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "topology/probe/nvml_library.h"

namespace lockstep::topology {
namespace {

constexpr unsigned kMostLinks = 18;  // NVLINK_MAX_LINKS of NVML
constexpr unsigned kMostGpus = 256;

// A GPU of NVML and its position in the machine.
struct Known {
  NvmlDevice handle = nullptr;
  int index = 0;
};

std::optional<PciAddress> address_of(NvmlPciInfo info) {
  info.bus_id[sizeof(info.bus_id) - 1] = '\0';
  return parse_pci_address(info.bus_id);
}

template <typename Function>
std::string text_of(Function function, NvmlDevice device) {
  std::array<char, 128> text{};
  if (function == nullptr || function(device, text.data(), text.size()) != kNvmlSuccess) return {};
  text.back() = '\0';
  return text.data();
}

void read_properties(const NvmlLibrary& nvml, NvmlDevice device, Gpu& gpu) {
  if (auto name = text_of(nvml.name, device); !name.empty()) gpu.name = std::move(name);
  if (auto uuid = text_of(nvml.uuid, device); !uuid.empty()) gpu.uuid = std::move(uuid);
  NvmlMemory memory{};
  if (nvml.memory != nullptr && nvml.memory(device, &memory) == kNvmlSuccess)
    gpu.memory = memory.total;
  int major = 0;
  int minor = 0;
  if (nvml.compute_capability != nullptr &&
      nvml.compute_capability(device, &major, &minor) == kNvmlSuccess)
    gpu.sm = 10 * major + minor;
}

std::string remote_kind(const NvmlLibrary& nvml, NvmlDevice device, unsigned link) {
  unsigned type = 0;
  if (nvml.nvlink_remote_type == nullptr ||
      nvml.nvlink_remote_type(device, link, &type) != kNvmlSuccess)
    return {};
  if (type == kNvmlRemoteGpu) return "GPU";
  return type == kNvmlRemoteSwitch ? "Switch" : "";
}

void read_nvlinks(const NvmlLibrary& nvml, NvmlDevice device, Gpu& gpu) {
  if (nvml.nvlink_state == nullptr) return;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0;
    // A GPU without this port answers "not supported" or "invalid argument".
    if (nvml.nvlink_state(device, link, &active) != kNvmlSuccess) continue;
    NvlinkPort port;
    port.number = static_cast<int>(link);
    port.active = active != 0;
    NvmlPciInfo remote{};
    if (port.active && nvml.nvlink_remote != nullptr &&
        nvml.nvlink_remote(device, link, &remote) == kNvmlSuccess)
      port.remote = address_of(remote);
    if (port.active) port.remote_kind = remote_kind(nvml, device, link);
    gpu.nvlinks.push_back(std::move(port));
  }
}

int position(const std::vector<Switch>& switches, std::optional<PciAddress> address) {
  const auto found =
      std::ranges::find(switches, address, [](const Switch& each) { return each.pci.address; });
  return static_cast<int>(found - switches.begin());
}

// The other end of a port. What is no GPU of this machine is an NVSwitch; one that the bus does not
// show (virtual machines) is one switch without an address.
DeviceId other_end(Machine& machine, const NvlinkPort& port) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    if (port.remote && machine.gpus[i].pci.address == port.remote)
      return {DeviceKind::gpu, static_cast<int>(i)};
  }
  int index = position(machine.nvswitches, port.remote);
  if (port.remote && index < static_cast<int>(machine.nvswitches.size()))
    return {DeviceKind::nvswitch, index};
  index = position(machine.nvswitches, std::nullopt);
  if (index == static_cast<int>(machine.nvswitches.size())) machine.nvswitches.emplace_back();
  return {DeviceKind::nvswitch, index};
}

void add_nvlinks(Machine& machine) {
  std::map<std::pair<DeviceId, DeviceId>, int> counts;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const DeviceId from{DeviceKind::gpu, static_cast<int>(i)};
    for (const NvlinkPort& port : machine.gpus[i].nvlinks) {
      if (!port.active) continue;
      const DeviceId to = other_end(machine, port);
      // A link between GPUs is seen from both ends and counted once; one to itself is damage.
      if (to.kind != DeviceKind::gpu || from < to) ++counts[{from, to}];
    }
  }
  for (const auto& [ends, count] : counts) {
    machine.links.push_back({.from = ends.first,
                             .to = ends.second,
                             .kind = LinkKind::nvlink,
                             .count = count,
                             .GBps = std::nullopt});
  }
}

void add_c2c(const NvmlLibrary& nvml, const Known& gpu, Machine& machine) {
  const auto numa = machine.gpus[static_cast<std::size_t>(gpu.index)].numa;
  if (nvml.field_values == nullptr || !numa) return;
  std::array<NvmlFieldValue, 2> fields{};
  fields[0].field = kNvmlFieldC2cCount;
  fields[1].field = kNvmlFieldC2cMaxBandwidth;
  if (nvml.field_values(gpu.handle, 2, fields.data()) != kNvmlSuccess) return;
  const unsigned count = fields[0].value.as_unsigned;
  if (fields[0].status != kNvmlSuccess || count == 0 || count > 1024) return;
  Link link{.from = {DeviceKind::gpu, gpu.index},
            .to = {DeviceKind::numa, *numa},
            .kind = LinkKind::c2c,
            .count = static_cast<int>(count),
            .GBps = std::nullopt};
  if (fields[1].status == kNvmlSuccess) link.GBps = count * (fields[1].value.as_unsigned / 1000.0);
  machine.links.push_back(link);
}

// nvidia-smi's words for NVML's numbers.
std::string peer_word(unsigned status) {
  constexpr std::array<const char*, 6> kWords{"OK", "CNS", "GNS", "TNS", "DR", "NS"};
  return status < kWords.size() ? kWords[status] : "U";
}

void read_peers(const NvmlLibrary& nvml, const std::vector<Known>& gpus, Machine& machine) {
  if (nvml.peer_status == nullptr) return;
  constexpr std::array<char, 2> kCapabilities{'r', 'w'};  // by NVML's number
  for (unsigned capability = 0; capability < kCapabilities.size(); ++capability) {
    for (const Known& from : gpus) {
      for (const Known& to : gpus) {
        unsigned status = 0;
        if (from.index == to.index ||
            nvml.peer_status(from.handle, to.handle, capability, &status) != kNvmlSuccess)
          continue;
        machine.peers.push_back({.from = {DeviceKind::gpu, from.index},
                                 .to = {DeviceKind::gpu, to.index},
                                 .capability = kCapabilities[capability],
                                 .status = peer_word(status)});
      }
    }
  }
}

std::vector<Known> match(const NvmlLibrary& nvml, Machine& machine) {
  std::vector<Known> known;
  unsigned count = 0;
  if (nvml.device_count(&count) != kNvmlSuccess) return known;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    Known gpu;
    NvmlPciInfo info{};
    if (nvml.device_by_index(i, &gpu.handle) != kNvmlSuccess ||
        nvml.pci_info(gpu.handle, &info) != kNvmlSuccess)
      continue;
    const auto address = address_of(info);
    const auto found =
        std::ranges::find(machine.gpus, address, [](const Gpu& each) { return each.pci.address; });
    if (!address || found == machine.gpus.end()) continue;
    gpu.index = static_cast<int>(found - machine.gpus.begin());
    known.push_back(gpu);
  }
  return known;
}

void report(Machine& machine, std::string message) {
  machine.findings.push_back({.severity = Severity::info,
                              .code = "unreadable",
                              .message = std::move(message),
                              .where = "NVML",
                              .remedy = "install the driver's libraries, or give the container the "
                                        "GPUs (NVIDIA container toolkit)"});
}

}  // namespace

void read_nvml(const std::string& library, Machine& machine) {
  std::string why;
  const auto nvml = NvmlLibrary::open(library, why);
  if (!nvml) {
    report(machine, fmt::format("NVLinks and peer access of the {} GPUs could not be read: {}",
                                machine.gpus.size(), why));
    return;
  }
  std::array<char, 96> version{};
  if (nvml->driver_version != nullptr &&
      nvml->driver_version(version.data(), version.size()) == kNvmlSuccess)
    machine.system.gpu_driver = version.data();
  const std::vector<Known> gpus = match(*nvml, machine);
  if (gpus.size() < machine.gpus.size())
    report(machine, fmt::format("NVML shows {} of the {} GPUs on the bus", gpus.size(),
                                machine.gpus.size()));
  for (const Known& gpu : gpus) {
    Gpu& target = machine.gpus[static_cast<std::size_t>(gpu.index)];
    read_properties(*nvml, gpu.handle, target);
    read_nvlinks(*nvml, gpu.handle, target);
    add_c2c(*nvml, gpu, machine);
  }
  add_nvlinks(machine);
  read_peers(*nvml, gpus, machine);
}

}  // namespace lockstep::topology
