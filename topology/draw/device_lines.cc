#include "topology/draw/device_lines.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "topology/draw/labels.h"
#include "topology/draw/lettering.h"
#include "topology/draw/speeds.h"

namespace lockstep::topology {
namespace {

void add(std::vector<Line>& lines, std::string text, Ink ink = Ink::faint) {
  if (!text.empty()) lines.push_back({.text = std::move(text), .ink = ink, .bold = false});
}

// As lspci has it: without the domain where that is 0.
std::string short_address(const PciDevice& device) {
  if (!device.address) return {};
  const std::string text = to_string(*device.address);
  return device.address->domain == 0 ? text.substr(text.find(':') + 1) : text;
}

std::string_view short_kind(NicKind kind) {
  switch (kind) {
    case NicKind::infiniband:
      return "IB";
    case NicKind::roce:
      return "RoCE";
    case NicKind::ethernet:
      return "Eth";
    case NicKind::efa:
      return "EFA";
    case NicKind::other:
      return "other";
    case NicKind::unknown:
      break;
  }
  return "";
}

void add_link(std::vector<Line>& lines, const PciDevice& device, double room) {
  for (Line& line : lines_of_link(device, room)) lines.push_back(std::move(line));
}

}  // namespace

std::vector<Line> lines_of_link(const PciDevice& device, double room) {
  std::vector<Line> lines;
  const std::string what = label_of(device.link);
  const std::string speed = speed_text(uplink_GBps(device));
  if (what.empty()) return lines;
  const std::string both = speed.empty() ? what : fmt::format("{}, {}", what, speed);
  if (width_of(both, kSmall) <= room) {
    add(lines, both);
    return lines;
  }
  const std::size_t now = what.find(" (now");
  add(lines, what.substr(0, now));
  if (now != std::string::npos) {
    add(lines, what.substr(now + 1));
  } else {
    add(lines, speed);
  }
  return lines;
}

std::vector<Line> lines_of_gpu(const Gpu& gpu, int index, double room) {
  std::vector<Line> lines{{.text = fmt::format("GPU{}", index), .ink = Ink::normal, .bold = true}};
  for (std::string& line : wrapped(plain(gpu.name), room, kSmall, 3))
    add(lines, std::move(line), Ink::normal);
  add(lines, short_address(gpu.pci));
  add_link(lines, gpu.pci, room);
  return lines;
}

std::vector<Line> lines_of_nic(const Nic& nic, int index, double room) {
  std::vector<Line> lines{{.text = fmt::format("NIC{}", index), .ink = Ink::normal, .bold = true}};
  add(lines, plain(nic.name), Ink::normal);
  std::string what(short_kind(nic.kind));
  if (nic.rate_Gbps) what += fmt::format("{}{:g} Gb/s", what.empty() ? "" : " ", *nic.rate_Gbps);
  for (std::string& line : wrapped(what, room, kSmall, 2)) add(lines, std::move(line), Ink::normal);
  if (nic.state == NicState::down) add(lines, "down");
  add(lines, short_address(nic.pci));
  add_link(lines, nic.pci, room);
  return lines;
}

std::vector<Line> lines_of_numa(const Machine& machine, int id, double room) {
  std::vector<Line> lines{{.text = fmt::format("NUMA{}", id), .ink = Ink::normal, .bold = true}};
  const NumaNode* node = find_numa(machine, id);
  if (node == nullptr) return lines;
  if (!node->cpus.empty()) {
    for (std::string& line :
         wrapped(fmt::format("CPUs {}", plain(node->cpus.to_list())), room, kSmall, 1))
      add(lines, std::move(line));
  }
  if (node->memory)
    add(lines, fmt::format("{:.0f} GiB", static_cast<double>(*node->memory) / (1ULL << 30)));
  return lines;
}

Line line_of_switch(const Machine& machine, int index) {
  const Switch& device = machine.switches[static_cast<std::size_t>(index)];
  std::string text = fmt::format("SW{}", index);
  if (!device.name.empty()) text += fmt::format(" {}", plain(device.name));
  const std::string address = short_address(device.pci);
  if (!address.empty()) text += fmt::format(" {}", address);
  return {.text = std::move(text), .ink = Ink::normal, .bold = false};
}

}  // namespace lockstep::topology
