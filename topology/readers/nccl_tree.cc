#include "topology/readers/nccl_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "topology/bandwidth.h"
#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

// "ffffffffffffff" and, before NCCL 2.20, 16 of them: the node is not known.
int numa_of(std::uint64_t id) {
  return id <= 4095 ? static_cast<int>(id) : -1;
}

std::optional<PciAddress> address_of(std::uint64_t id) {
  const std::uint64_t device = (id >> 4) & 0xff;
  const std::uint64_t function = id & 0xf;
  if (id >> 52 != 0 || device > 31 || function > 7) return std::nullopt;
  return PciAddress{static_cast<std::uint32_t>(id >> 20),
                    static_cast<std::uint8_t>((id >> 12) & 0xff), static_cast<std::uint8_t>(device),
                    static_cast<std::uint8_t>(function)};
}

// NCCL's bandwidths of one NVLink in GB/s, of its releases 2.8 to 2.30; on a tie the newer GPU.
int nvlinks_of(double GBps) {
  constexpr std::array kOne{20.6, 40.1, 20.0, 22.0, 21.0, 18.0, 12.0};
  constexpr int kMostLinks = 18;
  for (const double one : kOne) {
    const double count = std::round(GBps / one);
    if (count >= 1 && count <= kMostLinks && std::abs(count * one - GBps) < 0.06)
      return static_cast<int>(count);
  }
  return 1;
}

class TreeReader {
 public:
  TreeReader(const NcclContext& context, Notes& notes) : context_(context), notes_(notes) {}

  void take(const NcclLine& line) {
    if (line.link.empty()) {
      begin_tree(line);
      return;
    }
    if (foreign_tree_) return;
    while (!above_.empty() && above_.back().column > line.column) above_.pop_back();
    const Above* const parent = above_.empty() ? nullptr : &above_.back();
    if (parent != nullptr && parent->column != line.column) {
      misplaced(line);
      return;
    }
    if (line.link == "PCI") {
      add_pci(line, parent);
    } else if (line.link == "NET") {
      add_net(line, parent);
    } else if (parent == nullptr) {
      misplaced(line);
    } else {
      add_peer(line, *parent);
    }
  }

  Machine finish() {
    for (const Pending& pending : pending_) {
      const auto to = ids_.find({pending.kind, pending.id});
      if (to != ids_.end()) {
        connect(pending.link, to->second);
      } else {
        notes_.add({.severity = Severity::info,
                    .code = "nccl-log-cut",
                    .message = fmt::format("a link leads to {}/{:x}, which the log does not show",
                                           pending.kind, pending.id),
                    .remedy = "keep the whole log"},
                   pending.line);
      }
    }
    if (foreign_) {
      notes_.add({.severity = Severity::info,
                  .code = "other-hosts",
                  .message = "the dump has devices of several hosts of one NVLink domain; those of "
                             "the first are read"});
    }
    return std::move(machine_);
  }

 private:
  struct Above {
    std::size_t column = 0;  // where its children have their "+"
    std::string_view kind;
    DeviceId id;
    int numa = -1;
    bool has_net = false;  // of a NIC: its first NET was read
  };
  struct Pending {
    Link link;  // without its end
    std::string_view kind;
    std::uint64_t id = 0;
    int line = 0;
  };

  void begin_tree(const NcclLine& line) {
    above_.clear();
    if (!system_) system_ = line.node.system;
    foreign_tree_ = line.node.system != *system_;
    foreign_ = foreign_ || foreign_tree_;
    if (foreign_tree_) return;
    if (line.node.kind != "CPU") {
      misplaced(line);
      return;
    }
    const DeviceId id = add_numa(line.node);
    if (line.node.details.size() == 3) read_processor(line.node);
    above_.push_back(
        {.column = line.node_column, .kind = line.node.kind, .id = id, .numa = id.index});
  }

  DeviceId add_numa(const NcclNode& node) {
    const DeviceId id{DeviceKind::numa, numa_of(node.id)};
    if (find_numa(machine_, id.index) == nullptr) {
      const auto place = std::ranges::lower_bound(machine_.numa, id.index, {}, &NumaNode::id);
      machine_.numa.insert(place, NumaNode{.id = id.index});
    }
    ids_[{node.kind, node.id}] = id;
    return id;
  }

  // NCCL's numbers: architecture, vendor, model.
  void read_processor(const NcclNode& node) {
    constexpr std::array<std::string_view, 4> kArchitectures{"", "x86_64", "ppc64", "arm64"};
    constexpr std::array<std::string_view, 3> kVendors{"", "GenuineIntel", "AuthenticAMD"};
    const auto architecture = parse_number<int>(node.details[0]).value_or(0);
    const auto vendor = parse_number<int>(node.details[1]).value_or(0);
    if (architecture > 0 && architecture < static_cast<int>(kArchitectures.size()))
      machine_.cpu.architecture = kArchitectures[static_cast<std::size_t>(architecture)];
    if (vendor > 0 && vendor < static_cast<int>(kVendors.size()))
      machine_.cpu.vendor = kVendors[static_cast<std::size_t>(vendor)];
  }

  void add_pci(const NcclLine& line, const Above* parent) {
    const NcclNode& node = line.node;
    const bool pci_device = node.kind == "PCI" || node.kind == "GPU" || node.kind == "NIC";
    if (!pci_device || (parent != nullptr && parent->kind != "CPU" && parent->kind != "PCI")) {
      misplaced(line);
      return;
    }
    Above added{.column = line.node_column, .kind = node.kind};
    if (parent != nullptr) added.numa = parent->numa;
    // Of NICs without a PCI device several may have one number.
    const auto known = ids_.find({node.kind, node.id});
    if (known != ids_.end() && node.kind != "NIC") {
      notes_.add(twice(node), line.number);
      added.id = known->second;
      above_.push_back(added);
      return;
    }
    PciDevice pci;
    // By kLocalGBps hangs what has no PCI device of its own.
    if (line.GBps < kLocalGBps) pci.address = address_of(node.id);
    const auto numa = added.numa >= 0 ? std::optional(added.numa) : std::nullopt;
    if (node.kind == "PCI") {
      added.id = {DeviceKind::pcie_switch, static_cast<int>(machine_.switches.size())};
      pci.class_code = 0x060400;
      read_ids(node, pci);
      machine_.switches.push_back({.pci = pci});
    } else if (node.kind == "GPU") {
      added.id = {DeviceKind::gpu, static_cast<int>(machine_.gpus.size())};
      machine_.gpus.push_back({.pci = pci, .numa = numa});
    } else {
      added.id = {DeviceKind::nic, static_cast<int>(machine_.nics.size())};
      machine_.nics.push_back({.pci = pci, .numa = numa});
    }
    ids_.emplace(std::pair{node.kind, node.id}, added.id);
    if (parent != nullptr) {
      machine_.links.push_back(
          {.from = added.id, .to = parent->id, .kind = LinkKind::pcie, .GBps = line.GBps});
    } else {
      misplaced(line);
    }
    above_.push_back(added);
  }

  // "104c823200000000": vendor, device, and the subsystem's.
  static void read_ids(const NcclNode& node, PciDevice& pci) {
    if (node.details.size() != 1) return;
    const auto ids = parse_number<std::uint64_t>(node.details[0], 16);
    if (!ids || *ids >> 48 == 0) return;
    pci.vendor = static_cast<std::uint32_t>(*ids >> 48);
    pci.device = static_cast<std::uint32_t>((*ids >> 32) & 0xffff);
    pci.subsystem_vendor = static_cast<std::uint32_t>((*ids >> 16) & 0xffff);
    pci.subsystem_device = static_cast<std::uint32_t>(*ids & 0xffff);
  }

  // Each NET is a port; the second of a card is a NIC of its own at the same address.
  void add_net(const NcclLine& line, const Above* parent) {
    if (parent == nullptr || parent->kind != "NIC") {
      misplaced(line);
      return;
    }
    auto at = static_cast<std::size_t>(parent->id.index);
    if (above_.back().has_net) {
      const Nic& first = machine_.nics[at];
      const DeviceId id{DeviceKind::nic, static_cast<int>(machine_.nics.size())};
      const auto up = std::ranges::find(machine_.links, parent->id, &Link::from);
      if (up != machine_.links.end()) {
        Link link = *up;
        link.from = id;
        machine_.links.push_back(link);
      }
      machine_.nics.push_back({.pci = first.pci, .numa = first.numa});
      at = machine_.nics.size() - 1;
    }
    above_.back().has_net = true;
    read_net(line.node, machine_.nics[at]);
  }

  // (GUID/port/GB/s), in newer releases with another number in front.
  void read_net(const NcclNode& node, Nic& nic) const {
    constexpr std::size_t kGuidDigits = 12;  // shorter: a number of the net plug-in's own
    const std::size_t count = node.details.size();
    if (count >= 3) {
      const std::string_view guid = node.details[count - 3];
      if (guid.size() >= kGuidDigits) nic.guid = guid;
      const auto port = parse_number<int>(node.details[count - 2]);
      if (port && *port > 0) nic.port = port;
      if (const auto GBps = parse_number<double>(node.details[count - 1]); GBps && *GBps > 0)
        nic.rate_Gbps = *GBps * 8;
    }
    if (const auto net = context_.nets.find(node.id); net != context_.nets.end()) {
      nic.name = net->second.name;
      nic.kind = net->second.kind;
    }
  }

  void add_peer(const NcclLine& line, const Above& parent) {
    Link link{.from = parent.id, .to = {}, .GBps = line.GBps};
    if (line.node.system != *system_) {
      foreign_ = true;
      return;
    }
    const bool from_gpu = parent.kind == "GPU";
    const bool from_cpu = parent.kind == "CPU";
    if (line.link == "NVL" && (from_gpu || from_cpu)) {  // POWER9's GPUs reach the CPU by NVLink
      link.kind = LinkKind::nvlink;
      link.count = nvlinks_of(line.GBps);
      if (line.node.kind == "NVS") add_nvswitch(line.node);
    } else if (line.link == "XGMI" && from_gpu) {
      link.kind = LinkKind::xgmi;
    } else if (line.link == "C2C" && (from_gpu || from_cpu)) {
      link.kind = LinkKind::c2c;
    } else if (line.link == "SYS" && from_cpu) {
      link.kind = LinkKind::numa;
    } else {
      misplaced(line);
      return;
    }
    if (line.node.kind == "CPU") add_numa(line.node);  // its own tree may be cut off
    pending_.push_back({link, line.node.kind, line.node.id, line.number});
  }

  void add_nvswitch(const NcclNode& node) {
    const DeviceId id{DeviceKind::nvswitch, static_cast<int>(machine_.nvswitches.size())};
    if (!ids_.emplace(std::pair{node.kind, node.id}, id).second) return;
    machine_.nvswitches.emplace_back().name = fmt::format("NVS/{:x}", node.id);
  }

  // NCCL prints most links at both ends.
  void connect(Link link, DeviceId to) {
    link.to = to;
    const auto ends = std::minmax(link.from, to);
    if (link.from == to || !connected_.insert({ends.first, ends.second, link.kind}).second) return;
    machine_.links.push_back(link);
  }

  static Finding twice(const NcclNode& node) {
    return {.severity = Severity::warning,
            .code = "device-twice",
            .message = fmt::format("{}/{:x} stands twice in the dump; the first is read", node.kind,
                                   node.id),
            .remedy = "keep one dump a file"};
  }

  void misplaced(const NcclLine& line) {
    notes_.add({.severity = Severity::warning,
                .code = "nccl-line-misplaced",
                .message = fmt::format("what {}/{:x} hangs off cannot be told: no line above it is "
                                       "its parent",
                                       line.node.kind, line.node.id),
                .remedy = "keep the log whole and its blanks as they are"},
               line.number);
  }

  const NcclContext& context_;
  Notes& notes_;
  Machine machine_;
  std::optional<std::uint64_t> system_;  // the host that is read
  bool foreign_tree_ = false, foreign_ = false;
  std::vector<Above> above_;  // from the tree's root down to the last device
  std::map<std::pair<std::string_view, std::uint64_t>, DeviceId> ids_;
  std::vector<Pending> pending_;  // links to devices that may stand further down
  std::set<std::tuple<DeviceId, DeviceId, LinkKind>> connected_;
};

}  // namespace

Machine read_nccl_tree(const std::vector<NcclLine>& lines, const NcclContext& context,
                       Notes& notes) {
  TreeReader reader(context, notes);
  for (const NcclLine& line : lines) reader.take(line);
  return reader.finish();
}

}  // namespace lockstep::topology
