#include "tests/topology/nccl_rules.h"

#include <algorithm>
#include <cstddef>
#include <pugixml.hpp>
#include <stdexcept>
#include <vector>

namespace lockstep::topology::test {
namespace {

using pugi::xml_node;

// Facts A3, as tables.
const std::map<std::string, double> kLaneBandwidth{
    {"2.5 GT/s", 15},        {"5 GT/s", 30},          {"8 GT/s", 60},
    {"16 GT/s", 120},        {"32 GT/s", 240},        {"2.5 GT/s PCIe", 15},
    {"5.0 GT/s PCIe", 30},   {"8.0 GT/s PCIe", 60},   {"16.0 GT/s PCIe", 120},
    {"32.0 GT/s PCIe", 240}, {"64.0 GT/s PCIe", 480}, {"64 GT/s", 480}};
const std::map<int, double> kNvlink{{60, 18}, {70, 20},   {80, 20},
                                    {86, 12}, {90, 20.6}, {100, 40.1}};
const std::map<std::string, double> kXgmi{
    {"906", 24}, {"908", 24}, {"910", 36}, {"gfx942", 48}, {"gfx90a", 36}};
const std::vector<std::string> kOrder{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                      "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

int rank(const std::string& kind) {
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), kind) - kOrder.begin());
}

double pcie(xml_node pci) {
  const auto lane = kLaneBandwidth.find(pci.attribute("link_speed").value());
  const int width = pci.attribute("link_width").as_int();
  return (width == 0 ? 16 : width) * (lane == kLaneBandwidth.end() ? 60 : lane->second) / 80;
}

double between_cpus(xml_node cpu) {
  const std::string arch = cpu.attribute("arch").value(), vendor = cpu.attribute("vendor").value();
  if (arch == "arm64") return 6;
  if (vendor == "AuthenticAMD") return 16;
  if (vendor != "GenuineIntel") throw std::runtime_error("no rule for this processor");
  const int model = cpu.attribute("modelid").as_int();
  return model >= 0xcf ? 40 : model >= 0x8f ? 22 : model >= 0x55 ? 10 : 6;
}

std::string text(xml_node node, const char* name) {
  return node.attribute(name).value();
}

bool is_switch(xml_node pci) {
  return text(pci, "class") == "0x060400";
}

int broadcom(xml_node pci, bool inner) {
  if (text(pci, "vendor") != "0x1000" || text(pci, "subsystem_vendor") != "0x1000") return 0;
  const std::string device = text(pci, "device"), part = text(pci, "subsystem_device").substr(0, 3);
  if (device == "0xc010" && part == "0xa") return 4;
  return device == "0xc030" && part == (inner ? "0x1" : "0x0") ? 5 : 0;
}

// Takes inner Broadcom switches out of the tree, once a level.
void flatten(xml_node parent) {
  const int generation = broadcom(parent, false);
  std::vector<xml_node> inner;
  for (xml_node child : parent.children("pci")) {
    if (generation != 0 && is_switch(child) && broadcom(child, true) == generation)
      inner.push_back(child);
  }
  for (xml_node child : inner) {
    while (xml_node below = child.first_child()) parent.append_move(below);
    parent.remove_child(child);
  }
  for (xml_node child : parent.children("pci")) flatten(child);
}

struct Device {
  std::vector<std::pair<xml_node, double>> chain;  // each node above and the link that leads to it
  xml_node cpu, element;
};

Device device_at(xml_node pci) {
  Device device;
  for (xml_node at = pci; std::string(at.name()) == "pci"; at = at.parent())
    device.chain.emplace_back(at.parent(), pcie(at));
  device.cpu = device.chain.back().first;
  device.element = pci;
  return device;
}

struct Way {
  std::string kind = "DIS";
  double GBps = 0;
  std::size_t hops = 0;
};

// Where the chains of two PCI devices meet.
Way tree_way(const Device& a, const Device& b) {
  for (std::size_t i = 0; i < a.chain.size(); ++i) {
    for (std::size_t j = 0; j < b.chain.size(); ++j) {
      if (a.chain[i].first != b.chain[j].first) continue;
      Way way{"", 5000, i + j + 2};
      for (std::size_t k = 0; k <= i; ++k) way.GBps = std::min(way.GBps, a.chain[k].second);
      for (std::size_t k = 0; k <= j; ++k) way.GBps = std::min(way.GBps, b.chain[k].second);
      int switches = 0;
      for (std::size_t k = 0; k <= i; ++k) switches += is_switch(a.chain[k].first) ? 1 : 0;
      for (std::size_t k = 0; k < j; ++k) switches += is_switch(b.chain[k].first) ? 1 : 0;
      const bool on_cpu = std::string(a.chain[i].first.name()) == "cpu";
      way.kind = on_cpu ? "PHB" : switches == 0 ? "LOC" : switches == 1 ? "PIX" : "PXB";
      return way;
    }
  }
  Way way{"SYS", between_cpus(a.cpu), a.chain.size() + b.chain.size() + 1};
  for (const Device* each : {&a, &b}) {
    for (const auto& [node, GBps] : each->chain) way.GBps = std::min(way.GBps, GBps);
  }
  return way;
}

class Rules {
 public:
  explicit Rules(const std::string& xml) {
    document_.load_string(xml.c_str());
    const xml_node system = document_.child("system");
    collect_gpus_and_nets(system);
    for (xml_node cpu : system.children("cpu")) {
      for (xml_node pci : cpu.children("pci")) flatten(pci);
    }
    for (xml_node pci : gpu_nodes_) gpus_.push_back(device_at(pci));
    for (const auto& [card, net] : net_nodes_) nets_.push_back(net_at(card, net));
    read_nvlinks();
  }

  RuleTable table() {
    const auto gpus = gpus_.size(), nets = nets_.size();
    RuleTable table;
    std::vector<std::vector<Way>> peer(gpus, std::vector<Way>(gpus));
    std::vector<std::vector<Way>> out(gpus, std::vector<Way>(nets)), in = out;
    for (std::size_t a = 0; a < gpus; ++a) {
      for (std::size_t b = 0; b < gpus; ++b) {
        if (a != b) peer[a][b] = peer_way(a, b);
        if (a < b) table[{name("GPU", a), name("GPU", b)}] = {peer[a][b].kind, peer[a][b].GBps};
      }
      for (std::size_t n = 0; n < nets; ++n) out[a][n] = in[a][n] = net_way(a, n);
    }
    for (std::size_t n = 0; n < nets; ++n) {
      for (std::size_t g = 0; g < gpus; ++g) {
        const int local = local_gpu(n, out, in);
        if (local >= 0 && static_cast<std::size_t>(local) != g) {
          const auto p = static_cast<std::size_t>(local);
          const Way theirs = out[p][n];
          if (rank(theirs.kind) <= rank("P2C") && peer[g][p].kind == "NVL" &&
              (theirs.GBps > out[g][n].GBps || rank(out[g][n].kind) > rank("PXN")))
            out[g][n] = {"PXN", std::min(theirs.GBps, peer[g][p].GBps), 0};
        }
      }
    }
    for (std::size_t g = 0; g < gpus; ++g) {
      for (std::size_t n = 0; n < nets; ++n)
        table[{name("GPU", g), name("NIC", n)}] = {out[g][n].kind, out[g][n].GBps, has_speed(n)};
    }
    for (std::size_t a = 0; a < nets; ++a) {
      for (std::size_t b = a + 1; b < nets; ++b) {
        const Way way = tree_way(nets_[a], nets_[b]);
        table[{name("NIC", a), name("NIC", b)}] = {way.kind, way.GBps,
                                                   has_speed(a) && has_speed(b)};
      }
    }
    return table;
  }

 private:
  static std::string name(const char* kind, std::size_t i) { return kind + std::to_string(i); }

  void collect_gpus_and_nets(xml_node parent) {
    for (xml_node node : parent.children()) {
      const std::string kind = node.name(), code = text(node, "class").substr(0, 4);
      if (kind == "pci" && (node.child("gpu") || code == "0x03" || code == "0x12")) {
        gpu_nodes_.push_back(node);
      } else if (kind == "nic" || (kind == "pci" && code == "0x02")) {
        xml_node nic = kind == "nic" ? node : node.child("nic");
        bool any = false;
        for (xml_node net : nic.children("net")) {
          net_nodes_.emplace_back(node, net);
          any = true;
        }
        if (!any) net_nodes_.emplace_back(node, xml_node());
      } else {
        collect_gpus_and_nets(node);
      }
    }
  }

  static Device net_at(xml_node card, xml_node net) {
    Device device;
    if (std::string(card.name()) == "pci") {
      device = device_at(card);
    } else {
      device.cpu = card.parent();
      device.chain.emplace_back(device.cpu, 5000);
    }
    const double speed = net.attribute("speed").as_double();
    device.chain.insert(device.chain.begin(), {card, (speed > 0 ? speed : 10000) / 8000});
    return device;
  }

  void read_nvlinks() {
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const xml_node gpu = gpus_[g].element.child("gpu");
      for (xml_node link : gpu.children()) {
        const std::string target = text(link, "target");
        const bool xgmi = std::string(link.name()) == "xgmi";
        const double each =
            xgmi ? kXgmi.at(text(gpu, "gcn")) : kNvlink.at(gpu.attribute("sm").as_int());
        const double GBps = each * link.attribute("count").as_int();
        if (text(link, "tclass") == "0x068000") {
          to_switches_[g] += GBps;
          continue;
        }
        for (std::size_t other = 0; other < gpus_.size(); ++other) {
          if (other != g && text(gpus_[other].element, "busid") == target)
            direct_[{g, other}] += GBps;
        }
      }
    }
  }

  Way gpu_way(std::size_t a, std::size_t b) const {
    if (const auto own = direct_.find({a, b}); own != direct_.end()) return {"NVL", own->second, 1};
    Way best = tree_way(gpus_[a], gpus_[b]);
    const auto take = [&best](const Way& way) {
      if (way.hops < best.hops || (way.hops == best.hops && way.GBps > best.GBps)) best = way;
    };
    if (to_switches_.contains(a) && to_switches_.contains(b))
      take({"NVL", std::min(to_switches_.at(a), to_switches_.at(b)), 2});
    for (std::size_t over = 0; over < gpus_.size(); ++over) {
      const auto first = direct_.find({a, over}), second = direct_.find({over, b});
      if (first != direct_.end() && second != direct_.end())
        take({"NVB", std::min(first->second, second->second), 2});
    }
    return best;
  }

  // From a GPU to a CPU: up its chain, from another socket's CPU to this one, or over an NVLink to
  // a GPU that hangs directly off it.
  Way cpu_way(std::size_t g, xml_node cpu) const {
    Way best{"PHB", 5000, gpus_[g].chain.size()};
    for (const auto& [node, GBps] : gpus_[g].chain) best.GBps = std::min(best.GBps, GBps);
    if (gpus_[g].cpu != cpu) best = {"SYS", std::min(best.GBps, between_cpus(cpu)), best.hops + 1};
    for (std::size_t over = 0; over < gpus_.size(); ++over) {
      const auto link = direct_.find({g, over});
      if (link == direct_.end() || gpus_[over].cpu != cpu || gpus_[over].chain.size() != 1)
        continue;
      const double GBps = std::min(link->second, gpus_[over].chain.front().second);
      if (2 < best.hops || (2 == best.hops && GBps > best.GBps)) best = {"PHB", GBps, 2};
    }
    return best;
  }

  // GPUs farther apart than PXB talk over the CPU of the second one.
  Way peer_way(std::size_t a, std::size_t b) const {
    const Way way = gpu_way(a, b);
    const bool amd = text(gpus_[a].cpu, "vendor") == "AuthenticAMD" && gpus_.size() <= 2;
    if (rank(way.kind) <= rank(amd ? "SYS" : "PXB")) return way;
    const Way first = cpu_way(a, gpus_[b].cpu), second = cpu_way(b, gpus_[b].cpu);
    const bool first_is_worse = rank(first.kind) > rank(second.kind);
    return {first_is_worse ? first.kind : second.kind, std::min(first.GBps, second.GBps),
            first.hops + second.hops};
  }

  Way net_way(std::size_t g, std::size_t n) const {
    const Way way = tree_way(gpus_[g], nets_[n]);
    const bool supported =
        gpus_[g].element.child("gpu").attribute("gdr").as_int(1) != 0 && nets_gdr(n) != 0;
    if (!supported && rank(way.kind) < rank("PHB")) throw std::runtime_error("no rule for gdr=0");
    return way;
  }

  bool has_speed(std::size_t n) const {
    return net_nodes_[n].second.attribute("speed").as_double() > 0;
  }

  int nets_gdr(std::size_t n) const { return net_nodes_[n].second.attribute("gdr").as_int(1); }

  template <typename Row>
  static std::vector<int> nearest(std::size_t count, Row row) {
    std::vector<int> best;
    for (std::size_t i = 0; i < count; ++i) {
      const Way& way = row(i);
      const Way* so_far = best.empty() ? nullptr : &row(static_cast<std::size_t>(best.front()));
      const auto worth = [](const Way& each) { return std::pair(each.GBps, -rank(each.kind)); };
      if (so_far != nullptr && worth(way) < worth(*so_far)) continue;
      if (so_far != nullptr && worth(way) > worth(*so_far)) best.clear();
      best.push_back(static_cast<int>(i));
    }
    return best;
  }

  // The first GPU near the adapter of which a channel uses it.
  int local_gpu(std::size_t net, const std::vector<std::vector<Way>>& out,
                const std::vector<std::vector<Way>>& in) const {
    const auto near =
        nearest(gpus_.size(), [&](std::size_t g) -> const Way& { return in[g][net]; });
    for (int channel = 0; channel < 64; ++channel) {
      for (const int g : near) {
        const auto at = static_cast<std::size_t>(g);
        const auto own =
            nearest(nets_.size(), [&](std::size_t n) -> const Way& { return out[at][n]; });
        const auto first_net = static_cast<std::size_t>(own.front());
        const auto sharers =
            nearest(gpus_.size(), [&](std::size_t o) -> const Way& { return in[o][first_net]; });
        const int count = static_cast<int>(own.size()), share = static_cast<int>(sharers.size());
        int start = g;
        if ((count & (count - 1)) == 0) {
          start = 0;
          for (int low = 1, high = count / 2; low < count; low *= 2, high /= 2) {
            if (g & low) start += high;
          }
        }
        start += channel % ((count + share - 1) / share);
        if (own[static_cast<std::size_t>(start % count)] == static_cast<int>(net)) return g;
      }
    }
    return -1;
  }

  pugi::xml_document document_;
  std::vector<xml_node> gpu_nodes_;
  std::vector<std::pair<xml_node, xml_node>> net_nodes_;  // card (or virtual nic) and net
  std::vector<Device> gpus_, nets_;
  std::map<std::pair<std::size_t, std::size_t>, double> direct_;
  std::map<std::size_t, double> to_switches_;
};

}  // namespace

RuleTable rule_table(const std::string& xml) {
  return Rules(xml).table();
}

}  // namespace lockstep::topology::test
