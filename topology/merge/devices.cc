#include "topology/merge/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/merge/accounts.h"

namespace lockstep::topology::merging {
namespace {

// Speed and width of now change with load and power saving: no contradiction.
PcieLink merge_link(const Accounts<PcieLink>& accounts) {
  PcieLink link = accounts.first();
  accounts.fill(link, &PcieLink::max_speed);
  accounts.fill(link, &PcieLink::max_width);
  accounts.fill(link, &PcieLink::speed);
  accounts.fill(link, &PcieLink::width);
  accounts.fill(link, &PcieLink::as_written);
  return link;
}

std::string state_of(const NvlinkPort& port) {
  return port.active ? "active" : "inactive";
}

std::vector<NvlinkPort> merge_nvlinks(const Accounts<Gpu>& accounts) {
  std::vector<NvlinkPort> merged;
  std::vector<std::string_view> sources;  // of merged[i]
  for (const auto& account : accounts.all()) {
    for (const NvlinkPort& port : account.thing->nvlinks) {
      const auto known = std::ranges::find(merged, port.number, &NvlinkPort::number);
      if (known == merged.end()) {
        merged.push_back(port);
        sources.push_back(account.source);
        continue;
      }
      if (known->active != port.active) {
        accounts.note(fmt::format("the state of NVLink {}", port.number),
                      {state_of(*known), sources[static_cast<std::size_t>(known - merged.begin())]},
                      {state_of(port), account.source});
      }
      if (!known->GBps) known->GBps = port.GBps;
      if (!known->remote) known->remote = port.remote;
      if (known->remote_kind.empty()) known->remote_kind = port.remote_kind;
    }
  }
  return merged;
}

Gpu merge_gpu(const Accounts<Gpu>& accounts) {
  Gpu gpu = accounts.first();
  accounts.fill(gpu, &Gpu::name);
  accounts.fill(gpu, &Gpu::uuid);
  gpu.pci = merge_pci(accounts.of(&Gpu::pci));
  accounts.agree(gpu, "the NUMA node", &Gpu::numa);
  accounts.fill(gpu, &Gpu::memory_numa);
  accounts.agree(gpu, "the CPU affinity", &Gpu::cpus);
  accounts.agree(gpu, "the compute capability", &Gpu::sm);
  accounts.fill(gpu, &Gpu::memory);
  accounts.fill(gpu, &Gpu::gpudirect);
  gpu.nvlinks = merge_nvlinks(accounts);
  return gpu;
}

}  // namespace

PciDevice merge_pci(const Accounts<PciDevice>& accounts) {
  PciDevice device = accounts.first();
  accounts.fill(device, &PciDevice::address);
  accounts.fill(device, &PciDevice::class_code);
  accounts.fill(device, &PciDevice::vendor);
  accounts.fill(device, &PciDevice::device);
  accounts.fill(device, &PciDevice::subsystem_vendor);
  accounts.fill(device, &PciDevice::subsystem_device);
  device.link = merge_link(accounts.of(&PciDevice::link));
  return device;
}

std::vector<Gpu> merge_gpus(const Recordings& recordings, const Grouping& grouping,
                            std::vector<Finding>& findings) {
  std::vector<Gpu> gpus;
  for (const auto& group : grouping.groups) {
    gpus.push_back(merge_gpu(accounts_of(recordings, group, &Machine::gpus,
                                         fmt::format("GPU{}", gpus.size()), findings)));
  }
  return gpus;
}

std::vector<Switch> merge_switches(const Recordings& recordings, const Grouping& grouping,
                                   std::vector<Switch> Machine::*list) {
  std::vector<Switch> switches;
  std::vector<Finding> none;
  for (const auto& group : grouping.groups) {
    const auto accounts = accounts_of(recordings, group, list, "", none);
    Switch& merged = switches.emplace_back(accounts.first());
    accounts.fill(merged, &Switch::name);
    accounts.fill(merged, &Switch::access_control);
    merged.pci = merge_pci(accounts.of(&Switch::pci));
  }
  return switches;
}

}  // namespace lockstep::topology::merging
