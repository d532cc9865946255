#include "topology/nccl_xml_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/bandwidth.h"
#include "topology/broadcom_switches.h"
#include "topology/device_tree.h"

namespace lockstep::topology {
namespace {

constexpr int kDeepest = 32;  // PCI buses nest less deep than that
constexpr int kNoNuma = -1;   // NCCL's cpu of devices whose place is not known
constexpr int kSlots = 31;    // devices of a PCI bus that made-up switches may have: 01 to 1f
constexpr double kGen5 = 32;  // GT/s
constexpr std::string_view kNvidiaSwitch = "0x068000";

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(value.c_str());
}

void set_hex(pugi::xml_node node, const char* name, std::optional<std::uint32_t> value,
             int digits) {
  if (value) set(node, name, fmt::format("0x{:0{}x}", *value, digits));
}

class Writer {
 public:
  Writer(const Machine& machine, NcclXmlForm form)
      : machine_(machine), form_(form), tree_(machine), inside_(broadcom_insides(machine)) {}

  std::string write() {
    system_ = document_.append_child("system");
    set(system_, "version", "1");
    for (const NumaNode& node : machine_.numa) {
      if (is_cpu(node)) write_cpu(node.id, &node);
    }
    for (const int numa : tree_.numa()) {
      if (find_numa(machine_, numa) == nullptr) write_cpu(numa, nullptr);
    }
    write_lost();
    if (!system_.first_child()) {
      throw std::invalid_argument(fmt::format(
          "expected processors or PCI devices for NCCL's topology file, found none in what was "
          "read of {}; there is nothing to write: add a recording of its devices (lstopo's XML, "
          "lspci -vvv), or run this on the host",
          machine_.name.empty() ? "the host" : machine_.name));
    }
    std::ostringstream text;
    document_.save(text, "  ", pugi::format_default | pugi::format_no_declaration);
    return text.str();
  }

 private:
  // Memory of GPUs and the like is a NUMA node without CPUs and devices, and no cpu to NCCL.
  [[nodiscard]] bool is_cpu(const NumaNode& node) const {
    if (!tree_.below({DeviceKind::numa, node.id}).empty() || !node.cpus.empty()) return true;
    return std::ranges::all_of(machine_.numa,
                               [](const NumaNode& each) { return each.cpus.empty(); });
  }

  pugi::xml_node add_cpu(int numa, const NumaNode* node) {
    pugi::xml_node cpu = system_.append_child("cpu");
    set(cpu, "numaid", fmt::format("{}", numa));
    if (node != nullptr && !node->cpus.empty()) set(cpu, "affinity", node->cpus.to_mask(words()));
    const Cpu& own = machine_.cpu;
    if (!own.architecture.empty()) set(cpu, "arch", own.architecture);
    if (!own.vendor.empty()) set(cpu, "vendor", own.vendor);
    if (own.family) set(cpu, "familyid", fmt::format("{}", *own.family));
    if (own.model_number) set(cpu, "modelid", fmt::format("{}", *own.model_number));
    return cpu;
  }

  // All masks are as wide as the widest.
  [[nodiscard]] int words() const {
    int most = 1;
    for (const NumaNode& node : machine_.numa) {
      most = std::max(most, node.mask_words.value_or(1));
      const auto cpus = node.cpus.cpus();
      if (!cpus.empty()) most = std::max(most, cpus.back() / 32 + 1);
    }
    return most;
  }

  void write_cpu(int numa, const NumaNode* node) {
    const DeviceId id{DeviceKind::numa, numa};
    write_below(add_cpu(numa, node), id, 1);
  }

  // What no link leads to a NUMA node.
  void write_lost() {
    std::vector<DeviceId> lost;
    const auto look = [&](DeviceKind kind, std::size_t count) {
      for (int i = 0; i < static_cast<int>(count); ++i) {
        if (!tree_.above({kind, i})) lost.push_back({kind, i});
      }
    };
    look(DeviceKind::pcie_switch, machine_.switches.size());
    look(DeviceKind::gpu, machine_.gpus.size());
    look(DeviceKind::nic, machine_.nics.size());
    if (lost.empty()) return;
    pugi::xml_node cpu = add_cpu(kNoNuma, find_numa(machine_, kNoNuma));
    for (const DeviceId id : lost) write_device(cpu, id, 1);
  }

  void write_below(pugi::xml_node parent, DeviceId id, int depth) {
    if (depth > kDeepest) return;
    for (const DeviceId device : tree_.below(id)) write_device(parent, device, depth);
  }

  void write_device(pugi::xml_node parent, DeviceId id, int depth) {
    const auto index = static_cast<std::size_t>(id.index);
    if (id.kind == DeviceKind::gpu) write_gpu(parent, id);
    if (id.kind == DeviceKind::nic) write_nic(parent, machine_.nics[index], id.index);
    if (id.kind != DeviceKind::pcie_switch) return;
    pugi::xml_node pci;
    if (form_ == NcclXmlForm::full) {
      pci = add_pci(parent, machine_.switches[index].pci, "0x060400");
      write_peers(pci, id);
    } else {
      if (!leads_to_device(id, 1)) return;
      // A made-up switch is not Broadcom's any more, so NCCL would not merge the inner one.
      pci = inside_[index] ? parent : add_made_up_switch(parent);
    }
    write_below(pci, id, depth + 1);
  }

  // Switches that talk directly to another one, beside the way up.
  void write_peers(pugi::xml_node pci, DeviceId id) {
    for (const Link& link : machine_.links) {
      const bool to_switch =
          link.kind == LinkKind::pcie && link.from == id && link.to.kind == DeviceKind::pcie_switch;
      if (to_switch && has_device(machine_, link.to) && tree_.above(id) != link.to)
        set(pci.append_child("pcilink"), "target", target_of(link.to));
    }
  }

  // Whether a GPU or adapter that can be written hangs below a switch.
  [[nodiscard]] bool leads_to_device(DeviceId id, int depth) const {
    if (id.kind == DeviceKind::gpu)
      return machine_.gpus[static_cast<std::size_t>(id.index)].pci.address.has_value();
    if (id.kind == DeviceKind::nic)
      return machine_.nics[static_cast<std::size_t>(id.index)].pci.address.has_value();
    return depth <= kDeepest && std::ranges::any_of(tree_.below(id), [&](DeviceId device) {
             return leads_to_device(device, depth + 1);
           });
  }

  pugi::xml_node add_pci(pugi::xml_node parent, const PciDevice& device,
                         std::string_view usual_class) {
    pugi::xml_node pci = parent.append_child("pci");
    if (device.address) set(pci, "busid", to_string(*device.address));
    if (device.class_code) {
      set_hex(pci, "class", device.class_code, 6);
    } else {
      set(pci, "class", std::string(usual_class));
    }
    if (form_ == NcclXmlForm::virtual_machine) {
      set_link(pci,
               {.max_speed = kGen5, .speed = {}, .max_width = 16, .width = {}, .as_written = ""});
      return pci;
    }
    set_hex(pci, "vendor", device.vendor, 4);
    set_hex(pci, "device", device.device, 4);
    set_hex(pci, "subsystem_vendor", device.subsystem_vendor, 4);
    set_hex(pci, "subsystem_device", device.subsystem_device, 4);
    set_link(pci, device.link);
    return pci;
  }

  // NCCL wants both attributes of every device that has a class, if need be empty and 0.
  static void set_link(pugi::xml_node pci, const PcieLink& link) {
    const auto speed = link.max_speed ? link.max_speed : link.speed;
    const auto width = link.max_width ? link.max_width : link.width;
    const std::string_view known = speed ? pcie_speed_text(*speed) : std::string_view{};
    set(pci, "link_speed", known.empty() ? link.as_written : std::string(known));
    set(pci, "link_width", fmt::format("{}", width.value_or(0)));
  }

  pugi::xml_node add_made_up_switch(pugi::xml_node parent) {
    PciDevice device;
    const int number = made_up_++;
    device.address = PciAddress{0xffff, static_cast<std::uint8_t>(0xff - number / kSlots),
                                static_cast<std::uint8_t>(1 + number % kSlots), 0};
    pugi::xml_node pci = add_pci(parent, device, "0x060400");
    // Neither Broadcom's nor anybody's: NCCL is not to merge them.
    for (const char* name : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
      set(pci, name, "0x0000");
    return pci;
  }

  void write_gpu(pugi::xml_node parent, DeviceId id) {
    const Gpu& gpu = machine_.gpus[static_cast<std::size_t>(id.index)];
    if (form_ == NcclXmlForm::virtual_machine && !gpu.pci.address) return;
    pugi::xml_node pci = add_pci(parent, gpu.pci, "0x030200");
    if (form_ == NcclXmlForm::virtual_machine) return;
    pugi::xml_node element = pci.append_child("gpu");
    set(element, "dev", fmt::format("{}", id.index));
    if (gpu.sm) set(element, "sm", fmt::format("{}", *gpu.sm));
    if (gpu.name.starts_with("gfx")) set(element, "gcn", gpu.name);
    set(element, "rank", fmt::format("{}", id.index));
    if (gpu.gpudirect) set(element, "gdr", *gpu.gpudirect ? "1" : "0");
    for (const Link& link : machine_.links) {
      if (link.from == id) write_link(element, link, link.to);
      if (link.to == id && link.from != id) write_link(element, link, link.from);
    }
  }

  void write_link(pugi::xml_node gpu, const Link& link, DeviceId other) {
    if (!has_device(machine_, other) || link.kind == LinkKind::pcie || link.kind == LinkKind::numa)
      return;
    if (link.kind == LinkKind::c2c) {
      pugi::xml_node element = gpu.append_child("c2c");
      const double each = link.GBps.value_or(0) * 1000 / std::max(link.count, 1);  // MB/s
      set(element, "bw", fmt::format("{}", std::lround(each)));
      set(element, "count", fmt::format("{}", link.count));
      return;
    }
    pugi::xml_node element = gpu.append_child(link.kind == LinkKind::xgmi ? "xgmi" : "nvlink");
    set(element, "target", target_of(other));
    set(element, "count", fmt::format("{}", link.count));
    set(element, "tclass", class_of(other));
  }

  [[nodiscard]] std::string target_of(DeviceId id) const {
    std::optional<PciAddress> address;
    const auto index = static_cast<std::size_t>(id.index);
    if (id.kind == DeviceKind::gpu) address = machine_.gpus[index].pci.address;
    if (id.kind == DeviceKind::pcie_switch) address = machine_.switches[index].pci.address;
    if (id.kind == DeviceKind::nvswitch) address = machine_.nvswitches[index].pci.address;
    // What NVML says of a switch that a virtual machine does not see.
    return address ? to_string(*address) : "fffffff:ffff:ff";
  }

  [[nodiscard]] std::string class_of(DeviceId id) const {
    if (id.kind == DeviceKind::nvswitch) return std::string(kNvidiaSwitch);
    if (id.kind == DeviceKind::numa) return "0x068001";  // POWER9's processor
    const auto code = machine_.gpus[static_cast<std::size_t>(id.index)].pci.class_code;
    return fmt::format("0x{:06x}", code.value_or(0x030200));
  }

  // The ports of a card are in one element.
  void write_nic(pugi::xml_node parent, const Nic& nic, int index) {
    const bool full = form_ == NcclXmlForm::full;
    if (!nic.pci.address && !full) return;
    pugi::xml_node holder = parent;
    if (nic.pci.address) {
      const auto [card, is_new] = cards_.try_emplace(*nic.pci.address);
      if (is_new) card->second = add_pci(parent, nic.pci, "0x020000");
      holder = card->second;
    }
    if (!full) return;
    pugi::xml_node element = holder.child("nic");
    if (!element) element = holder.append_child("nic");
    if (!nic.name.empty()) write_net(element, nic, index);
  }

  static void write_net(pugi::xml_node holder, const Nic& nic, int index) {
    pugi::xml_node net = holder.append_child("net");
    set(net, "name", nic.name);
    set(net, "dev", fmt::format("{}", index));
    if (nic.rate_Gbps) set(net, "speed", fmt::format("{}", std::lround(*nic.rate_Gbps * 1000)));
    set(net, "port", fmt::format("{}", nic.port.value_or(0)));
    set(net, "latency", "0.000000");
    set(net, "guid", nic.guid.empty() ? "0x0" : nic.guid);
    if (nic.gpudirect) set(net, "gdr", *nic.gpudirect ? "1" : "0");
  }

  const Machine& machine_;
  const NcclXmlForm form_;
  const DeviceTree tree_;
  const std::vector<std::optional<int>> inside_;
  pugi::xml_document document_;
  pugi::xml_node system_;
  std::map<PciAddress, pugi::xml_node> cards_;
  int made_up_ = 0;
};

}  // namespace

std::string write_nccl_xml(const Machine& machine, NcclXmlForm form) {
  return Writer(machine, form).write();
}

}  // namespace lockstep::topology
