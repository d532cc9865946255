#include "topology/path_graph.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "topology/bandwidth.h"
#include "topology/broadcom_switches.h"

namespace lockstep::topology {
namespace {

using Node = PathGraph::Node;
using Edge = PathGraph::Edge;
using NodeKind = PathGraph::NodeKind;

struct Speed {
  double GBps = kLocalGBps;
  bool known = true;
};

Speed speed_of(std::optional<double> GBps) {
  return GBps ? Speed{*GBps, true} : Speed{kLocalGBps, false};
}

constexpr std::size_t kMostNuma = 256;

class Builder {
 public:
  explicit Builder(const Machine& machine) : machine_(machine), inside_(broadcom_insides(machine)) {
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) graph_.gpus.push_back(add(NodeKind::gpu));
    for (std::size_t i = 0; i < machine.switches.size(); ++i)
      switches_.push_back(inside_[i] ? -1 : add(NodeKind::pcie_switch));
    for (const Nic& nic : machine.nics) add_port(nic);
  }

  PathGraph build() {
    for (const Link& link : machine_.links) add_link(link);
    connect_numa();
    return std::move(graph_);
  }

 private:
  int add(NodeKind kind) {
    graph_.nodes.push_back({.kind = kind, .edges = {}});
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  // NCCL masks the function of an adapter's address, so that two ports of a card are one; all
  // adapters without an address are one as well.
  void add_port(const Nic& nic) {
    auto address = nic.pci.address;
    if (address) address->function = 0;
    const auto [card, is_new] = cards_.try_emplace(address, -1);
    if (is_new) card->second = add(NodeKind::card);
    card_of_.push_back(card->second);
    const int port = add(NodeKind::port);
    graph_.ports.push_back(port);
    connect(port, card->second, PathKind::LOC, {nic_GBps(nic), nic.rate_Gbps.has_value()});
  }

  void connect(int a, int b, PathKind kind, Speed speed) {
    add_edge(a, b, kind, speed);
    add_edge(b, a, kind, speed);
  }

  // NVLinks between the same two nodes add up; a PCIe link that is stated by each of a card's
  // ports is one link.
  void add_edge(int from, int to, PathKind kind, Speed speed) {
    std::vector<Edge>& edges = graph_.nodes[static_cast<std::size_t>(from)].edges;
    const auto same = std::ranges::find_if(
        edges, [&](const Edge& edge) { return edge.to == to && edge.kind == kind; });
    if (same == edges.end()) {
      edges.push_back({.to = to, .kind = kind, .GBps = speed.GBps, .known = speed.known});
    } else if (kind == PathKind::NVL) {
      same->GBps += speed.GBps;
      same->known = same->known && speed.known;
    }
  }

  std::optional<int> node_of(DeviceId id) {
    const auto at = [&id](const std::vector<int>& nodes) -> std::optional<int> {
      if (id.index < 0 || id.index >= static_cast<int>(nodes.size())) return std::nullopt;
      return nodes[static_cast<std::size_t>(id.index)];
    };
    switch (id.kind) {
      case DeviceKind::gpu:
        return at(graph_.gpus);
      case DeviceKind::nic:
        return at(card_of_);
      case DeviceKind::pcie_switch: {
        if (id.index < 0 || id.index >= static_cast<int>(switches_.size())) return std::nullopt;
        const auto outer = inside_[static_cast<std::size_t>(id.index)];
        return switches_[static_cast<std::size_t>(outer.value_or(id.index))];
      }
      case DeviceKind::nvswitch:
        if (!nvswitches_) nvswitches_ = add(NodeKind::nvswitches);
        return nvswitches_;
      case DeviceKind::numa: {
        const auto [known, is_new] = numa_.try_emplace(id.index, -1);
        if (is_new) known->second = add(NodeKind::numa);
        return known->second;
      }
    }
    return std::nullopt;
  }

  const PciDevice* pci_of(DeviceId id) const {
    const auto i = static_cast<std::size_t>(id.index);
    if (id.kind == DeviceKind::gpu) return &machine_.gpus[i].pci;
    if (id.kind == DeviceKind::nic) return &machine_.nics[i].pci;
    if (id.kind == DeviceKind::pcie_switch) return &machine_.switches[i].pci;
    return nullptr;
  }

  Speed pcie_speed_of(const Link& link) const {
    if (link.GBps) return {*link.GBps, true};
    const PciDevice* pci = pci_of(link.from);
    if (pci == nullptr) return {kLocalGBps, false};
    if (link.from.kind == DeviceKind::nic && !pci->address) return {kLocalGBps, true};
    return {pcie_GBps(pci->link), true};
  }

  // Of all links together; of two GPUs the slower one's.
  Speed gpu_link_speed(const Link& link) const {
    if (link.GBps) return {*link.GBps, true};
    std::optional<double> one;
    for (const DeviceId end : {link.from, link.to}) {
      if (end.kind != DeviceKind::gpu) continue;
      const Gpu& gpu = machine_.gpus[static_cast<std::size_t>(end.index)];
      const auto own = link.kind == LinkKind::xgmi ? xgmi_GBps(gpu) : nvlink_GBps(gpu);
      if (!own) return {kLocalGBps, false};
      one = std::min(one.value_or(*own), *own);
    }
    if (!one) return {kLocalGBps, false};
    return {*one * std::max(link.count, 1), true};
  }

  void add_link(const Link& link) {
    if (link.kind == LinkKind::numa) {
      if (link.GBps) stated_numa_[std::minmax(link.from.index, link.to.index)] = *link.GBps;
      return;
    }
    const auto from = node_of(link.from);
    const auto to = from ? node_of(link.to) : std::nullopt;
    if (!from || !to || *from == *to) return;
    switch (link.kind) {
      case LinkKind::nvlink:
      case LinkKind::xgmi:
        connect(*from, *to, PathKind::NVL, gpu_link_speed(link));
        break;
      case LinkKind::c2c:
        connect(*from, *to, PathKind::C2C, speed_of(link.GBps));
        break;
      case LinkKind::pcie:
        connect(*from, *to, PathKind::PIX, pcie_speed_of(link));
        break;
      case LinkKind::numa:
        break;
    }
  }

  void connect_numa() {
    for (const NumaNode& node : machine_.numa) {
      const auto known = numa_.find(node.id);
      if (known != numa_.end()) graph_.numa.push_back(known->second);
    }
    for (const auto& [id, node] : numa_) {
      if (find_numa(machine_, id) == nullptr) graph_.numa.push_back(node);
    }
    // No machine has more; a damaged recording may.
    if (numa_.size() > kMostNuma) return;
    const Speed usual = speed_of(numa_GBps(machine_.cpu));
    for (auto a = numa_.begin(); a != numa_.end(); ++a) {
      for (auto b = std::next(a); b != numa_.end(); ++b) {
        const auto stated = stated_numa_.find({a->first, b->first});
        connect(a->second, b->second, PathKind::SYS,
                stated == stated_numa_.end() ? usual : Speed{stated->second, true});
      }
    }
  }

  const Machine& machine_;
  const std::vector<std::optional<int>> inside_;
  PathGraph graph_;
  std::vector<int> switches_;  // -1: inside another one
  std::vector<int> card_of_;   // by the index of the Nic
  std::map<std::optional<PciAddress>, int> cards_;
  std::map<int, int> numa_;  // nodes by the operating system's number
  std::optional<int> nvswitches_;
  std::map<std::pair<int, int>, double> stated_numa_;
};

}  // namespace

PathGraph path_graph(const Machine& machine) {
  return Builder(machine).build();
}

}  // namespace lockstep::topology
