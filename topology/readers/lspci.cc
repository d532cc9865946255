#include "topology/readers/lspci.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology/pci_tree.h"
#include "topology/readers/lines.h"
#include "topology/readers/lspci_device.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {
namespace {

// More levels of switches than these are a circle of damaged bus numbers.
constexpr int kMaxLevels = 32;

// A machine with every virtual function of every adapter has a few thousand.
constexpr std::size_t kMaxDevices = 1 << 14;

std::vector<LspciDevice> read_devices(const Recording& recording, Notes& notes) {
  std::vector<LspciDevice> devices;
  std::set<PciAddress> seen;
  // Of other devices, of which a machine has hundreds, nothing is kept.
  std::optional<LspciDevice> open;
  const auto close = [&] {
    if (open && (is_gpu(open->pci) || is_network(open->pci) || is_bridge(open->pci) ||
                 is_nvswitch(open->pci))) {
      if (!seen.insert(*open->pci.address).second) {
        notes.add({.severity = Severity::info,
                   .code = "device-twice",
                   .message = fmt::format("{} is listed twice; the first is read",
                                          to_string(*open->pci.address)),
                   .remedy = "keep one output of lspci a file"},
                  open->line);
      } else if (devices.size() == kMaxDevices) {
        throw ReadError(recording.name, open->line,
                        fmt::format("at most {} GPUs, NICs and bridges were expected, there are "
                                    "more; is this what lspci printed?",
                                    kMaxDevices));
      } else {
        devices.push_back(*std::move(open));
      }
    }
    open.reset();
  };
  for (Lines lines(recording.text); lines.next();) {
    const std::string_view line = lines.text();
    if (auto head = parse_lspci_head(line)) {
      close();
      open = std::move(head);
      open->line = lines.number();
    } else if (trimmed(line).empty()) {
      close();
    } else if (open && (line.front() == '\t' || line.front() == ' ')) {
      add_lspci_detail(line, *open);
    }
  }
  close();
  return devices;
}

NicKind kind_of(const LspciDevice& device) {
  if (device.product.find("Elastic Fabric Adapter") != std::string::npos) return NicKind::efa;
  switch (device.pci.class_code.value_or(0) >> 8) {
    case 0x0200:
      return NicKind::ethernet;
    case 0x0207:
      return NicKind::infiniband;
    default:
      return NicKind::other;
  }
}

class MachineBuilder {
 public:
  explicit MachineBuilder(const std::vector<LspciDevice>& devices) : devices_(devices) {
    machine_.sources = {"lspci"};
    for (const LspciDevice& device : devices_) {
      ids_.push_back(add(device));
      if (device.numa.value_or(-1) >= 0) add_numa(*device.numa);
      if (is_bridge(device.pci) && device.below) {
        bridges_.emplace(std::pair{device.pci.address->domain, *device.below}, ids_.size() - 1);
      }
    }
  }

  Machine build() {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (!is_bridge(devices_[i].pci)) hang_up(i);
    }
    return std::move(machine_);
  }

 private:
  DeviceId add(const LspciDevice& device) {
    const auto numa = device.numa.value_or(-1) >= 0 ? device.numa : std::nullopt;
    const auto last = [](DeviceKind kind, const auto& list) {
      return DeviceId{kind, static_cast<int>(list.size()) - 1};
    };
    if (is_gpu(device.pci)) {
      machine_.gpus.push_back({.name = device.product, .pci = device.pci, .numa = numa});
      return last(DeviceKind::gpu, machine_.gpus);
    }
    if (is_network(device.pci)) {
      machine_.nics.push_back(
          {.pci = device.pci,
           .numa = numa,
           .kind = kind_of(device),
           .board = device.product,
           .virtual_function = device.product.find("Virtual Function") != std::string::npos});
      return last(DeviceKind::nic, machine_.nics);
    }
    const Switch port{
        .pci = device.pci, .access_control = device.access_control, .name = device.product};
    if (is_nvswitch(device.pci)) {
      machine_.nvswitches.push_back(port);
      return last(DeviceKind::nvswitch, machine_.nvswitches);
    }
    machine_.switches.push_back(port);
    return last(DeviceKind::pcie_switch, machine_.switches);
  }

  void add_numa(int id) {
    if (find_numa(machine_, id) != nullptr) return;
    const auto place = std::ranges::lower_bound(machine_.numa, id, {}, &NumaNode::id);
    machine_.numa.insert(place, NumaNode{.id = id});
  }

  // The bridge that leads to the device's bus, if any.
  [[nodiscard]] std::optional<std::size_t> above(std::size_t device) const {
    const PciAddress address = *devices_[device].pci.address;
    const auto found = bridges_.find({address.domain, address.bus});
    if (found == bridges_.end() || found->second == device) return std::nullopt;
    return found->second;
  }

  // Links the device, and what it hangs off, up to the root.
  void hang_up(std::size_t device) {
    for (int level = 0; level < kMaxLevels; ++level) {
      const auto port = above(device);
      const auto upstream = port ? above(*port) : std::nullopt;
      if (!upstream) {
        // Of a device of which only its first line is known, nothing says where it hangs.
        if (!devices_[device].verbose) return;
        const int numa = devices_[device].numa.value_or(-1);
        add_numa(numa);
        connect(ids_[device], {DeviceKind::numa, numa});
        return;
      }
      if (!connect(ids_[device], ids_[*upstream])) return;
      device = *upstream;
    }
  }

  // False where the device hangs already.
  bool connect(DeviceId from, DeviceId to) {
    if (!hung_.emplace(from, to).second) return false;
    machine_.links.push_back({.from = from, .to = to, .kind = LinkKind::pcie});
    return true;
  }

  const std::vector<LspciDevice>& devices_;
  Machine machine_;
  std::vector<DeviceId> ids_;                                     // of devices_
  std::map<std::pair<std::uint32_t, int>, std::size_t> bridges_;  // by the bus they lead to
  std::map<DeviceId, DeviceId> hung_;
};

void check_capabilities(const std::vector<LspciDevice>& devices, Notes& notes) {
  const auto verbose = std::ranges::count_if(devices, &LspciDevice::verbose);
  const auto denied = std::ranges::count_if(devices, &LspciDevice::capabilities_denied);
  const auto bridges = std::ranges::count_if(
      devices, [](const LspciDevice& device) { return is_bridge(device.pci); });
  const bool any = std::ranges::any_of(devices, &LspciDevice::has_capabilities);
  if (bridges == 0 || (denied == 0 && any)) return;
  notes.add(
      {.severity = Severity::info,
       .code = "access-control-unknown",
       .message = fmt::format(
           "whether {} bridges redirect peer-to-peer traffic (ACS) cannot be told: {}", bridges,
           denied > 0     ? "lspci was not run by root and shows no capabilities"
           : verbose == 0 ? "`lspci -nn` does not show it"
                          : "no capabilities are in the recording"),
       .remedy = "record `sudo lspci -vvv`"});
}

}  // namespace

bool is_lspci(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    const auto head = parse_lspci_head(lines.text());
    // Other programs begin lines with an address too; the words of the class list are lspci's own.
    if (head && head->pci.class_code) return true;
  }
  return false;
}

Reading read_lspci(const Recording& recording) {
  Notes notes(recording.name);
  const std::vector<LspciDevice> devices = read_devices(recording, notes);
  if (devices.empty()) {
    throw ReadError(recording.name, 0,
                    "lspci's lines of GPUs, NICs or bridges were expected, none is there; record "
                    "all of `sudo lspci -vvv`");
  }
  Reading reading{.machine = MachineBuilder(devices).build()};
  check_capabilities(devices, notes);
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
