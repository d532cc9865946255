#include "topology/draw/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep::topology {
namespace {

// GT/s of a lane to the generation people speak of.
std::string generation(double speed) {
  constexpr std::array kGenerations{std::pair{2.5, 1},  std::pair{5.0, 2},  std::pair{8.0, 3},
                                    std::pair{16.0, 4}, std::pair{32.0, 5}, std::pair{64.0, 6}};
  for (const auto& [rate, number] : kGenerations) {
    if (speed == rate) return fmt::format("Gen{}", number);
  }
  return fmt::format("{:g} GT/s", speed);
}

std::string speed_and_width(std::optional<double> speed, std::optional<int> width) {
  std::string text = speed ? generation(*speed) : std::string();
  if (width) text += fmt::format("{}x{}", text.empty() ? "" : " ", *width);
  return text;
}

void add(std::string& text, std::string_view more) {
  if (more.empty()) return;
  text += ' ';
  text += more;
}

template <typename Device>
const Device* at(const std::vector<Device>& list, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < list.size()
             ? &list[static_cast<std::size_t>(index)]
             : nullptr;
}

std::string address(const PciDevice& pci) {
  return pci.address ? to_string(*pci.address) : std::string();
}

std::string of_gpu(const Gpu& gpu) {
  std::string text;
  add(text, plain(gpu.name));
  add(text, address(gpu.pci));
  add(text, label_of(gpu.pci.link));
  return text;
}

std::string of_nic(const Nic& nic) {
  std::string text;
  add(text, plain(nic.name));
  if (nic.kind != NicKind::unknown) add(text, to_string(nic.kind));
  if (nic.rate_Gbps) add(text, fmt::format("{:g} Gb/s", *nic.rate_Gbps));
  if (nic.state != NicState::unknown) add(text, to_string(nic.state));
  if (!nic.netdev.empty() && nic.netdev != nic.name)
    add(text, fmt::format("({})", plain(nic.netdev)));
  add(text, address(nic.pci));
  add(text, label_of(nic.pci.link));
  if (nic.virtual_function) add(text, "virtual function");
  return text;
}

std::string of_switch(const Switch& device, std::string_view what) {
  std::string text;
  add(text, what);
  add(text, plain(device.name));
  add(text, address(device.pci));
  add(text, label_of(device.pci.link));
  return text;
}

std::string of_numa(const NumaNode& node) {
  std::string text =
      node.cpus.empty() ? " no CPUs" : fmt::format(" CPUs {}", plain(node.cpus.to_list()));
  if (node.memory)
    text += fmt::format(", {:.0f} GiB", static_cast<double>(*node.memory) / (1ULL << 30));
  return text;
}

}  // namespace

std::string plain(std::string_view text, std::size_t most) {
  std::string printable;
  for (const char c : text)
    printable += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (printable.size() <= most) return printable;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(printable[end]) & 0xc0U) == 0x80U)
    --end;  // no half character of UTF-8
  return printable.substr(0, end) + "...";
}

std::string label_of(const Path& path) {
  if (path.from == path.to) return "X";
  if (!path.label.empty()) return plain(path.label, 8);
  return path.kind == PathKind::unknown ? "?" : std::string(to_string(path.kind));
}

std::string_view meaning_of(PathKind kind) {
  switch (kind) {
    case PathKind::LOC:
      return "the same card";
    case PathKind::NVL:
      return "NVLink";
    case PathKind::NVB:
      return "NVLink through another GPU";
    case PathKind::C2C:
      return "chip to chip";
    case PathKind::PIX:
      return "at most one PCIe switch";
    case PathKind::PXB:
      return "several PCIe switches, not the CPU";
    case PathKind::P2C:
      return "chip to chip, then the NIC of that CPU";
    case PathKind::PXN:
      return "a NIC through the GPU that is near it";
    case PathKind::PHB:
      return "through the CPU";
    case PathKind::SYS:
      return "between NUMA nodes";
    case PathKind::NET:
      return "over the network";
    case PathKind::DIS:
      return "not connected";
    case PathKind::unknown:
      return "not known";
  }
  return "";
}

std::string label_of(const PcieLink& link) {
  const std::string most = speed_and_width(link.max_speed, link.max_width);
  const std::string now = speed_and_width(link.speed, link.width);
  if (most.empty() || now.empty() || now == most) return most.empty() ? now : most;
  return fmt::format("{} (now {})", most, now);
}

std::string label_of(const Cpu& cpu) {
  std::string text = cpu.model.empty() ? plain(cpu.vendor) : plain(cpu.model);
  const auto add_count = [&text](std::optional<int> count, std::string_view what) {
    if (!count) return;
    if (!text.empty()) text += ", ";
    text += counted(static_cast<std::size_t>(*count), what);
  };
  add_count(cpu.sockets, "socket");
  add_count(cpu.cores, "core");
  add_count(cpu.threads, "thread");
  return text;
}

std::string label_of(const Machine& machine, DeviceId id) {
  std::string text = to_string(id);
  switch (id.kind) {
    case DeviceKind::gpu:
      if (const Gpu* gpu = at(machine.gpus, id.index)) text += of_gpu(*gpu);
      break;
    case DeviceKind::nic:
      if (const Nic* nic = at(machine.nics, id.index)) text += of_nic(*nic);
      break;
    case DeviceKind::pcie_switch:
      if (const Switch* device = at(machine.switches, id.index))
        text += of_switch(*device, "PCIe switch");
      break;
    case DeviceKind::nvswitch:
      if (const Switch* device = at(machine.nvswitches, id.index))
        text += of_switch(*device, "NVSwitch");
      break;
    case DeviceKind::numa:
      if (const NumaNode* node = find_numa(machine, id.index)) text += of_numa(*node);
      break;
  }
  return text;
}

std::string counted(std::size_t count, std::string_view what, std::string_view plural) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : plural);
}

std::string gpus_in_words(const Machine& machine) {
  if (!machine.gpus.empty()) return counted(machine.gpus.size(), "GPU");
  // A topology file of NCCL may have processors and switches only; NCCL finds the rest.
  constexpr std::array<std::string_view, 9> kBlind{"ibstat",    "ibstatus",      "ibdev2netdev",
                                                   "show_gids", "ibv_devinfo",   "rdma-link",
                                                   "ip-brief",  "settings-file", "nccl-xml"};
  const bool blind = !machine.sources.empty() &&
                     std::ranges::all_of(machine.sources, [&](const std::string& source) {
                       return std::ranges::find(kBlind, source) != kBlind.end();
                     });
  return blind ? "GPUs not shown" : "no GPU";
}

}  // namespace lockstep::topology
