#include "topology/nccl_paths.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "topology/gpudirect.h"
#include "topology/peer_access.h"

namespace lockstep::topology {
namespace {

using Matrix = std::vector<std::vector<Route>>;

constexpr int kMaxChannels = 64;  // NCCL's MAXCHANNELS: how often it asks for a GPU's adapter

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// Rows of `routes` at `nodes`, the first `count` of them.
std::vector<Route> ends_of(const std::vector<Route>& routes, const std::vector<int>& nodes,
                           int count) {
  std::vector<Route> ends;
  for (int i = 0; i < count; ++i) ends.push_back(routes[at(nodes[at(i)])]);
  return ends;
}

PathKind merged(PathKind a, PathKind b) {
  const auto [best, worst] = std::minmax(a, b);
  return worst == PathKind::PHB && best == PathKind::C2C ? PathKind::P2C : worst;
}

Route joined(const Route& first, const Route& second) {
  return {.hops = first.hops + second.hops,
          .kind = merged(first.kind, second.kind),
          .GBps = std::min(first.GBps, second.GBps),
          .known = first.known && second.known};
}

// The best of a row, by bandwidth, then kind; all that are equally good (ncclTopoGetLocal).
std::vector<int> nearest(const std::vector<Route>& row) {
  std::vector<int> best;
  for (int i = 0; i < static_cast<int>(row.size()); ++i) {
    const Route& route = row[at(i)];
    if (!route.exists()) continue;
    if (!best.empty()) {
      const Route& so_far = row[at(best.front())];
      if (route.GBps < so_far.GBps || (route.GBps == so_far.GBps && route.kind > so_far.kind))
        continue;
      if (route.GBps > so_far.GBps || route.kind < so_far.kind) best.clear();
    }
    best.push_back(i);
  }
  return best;
}

// The lowest bits of `value` in reverse order, as many as `power` (a power of two) has values.
int mirrored(int value, int power) {
  int mirror = 0;
  for (int bit = 1, other = power >> 1; bit < power; bit <<= 1, other >>= 1) {
    if ((value & bit) != 0) mirror |= other;
  }
  return mirror;
}

class Calculation {
 public:
  Calculation(const Machine& machine, const PathOptions& options)
      : machine_(machine),
        options_(options),
        graph_(path_graph(machine)),
        gpus_(std::min(static_cast<int>(machine.gpus.size()), kMaxPathDevices)),
        ports_(std::min(static_cast<int>(machine.nics.size()), kMaxPathDevices - gpus_)),
        gpu_to_gpu_(at(gpus_), std::vector<Route>(at(gpus_))),
        gpu_to_port_(at(gpus_), std::vector<Route>(at(ports_))),
        port_to_gpu_(at(ports_), std::vector<Route>(at(gpus_))),
        port_to_port_(at(ports_), std::vector<Route>(at(ports_))) {}

  NcclPaths run() {
    search();
    lead_peers_through_cpu();
    mark_c2c();
    for (int port = 0; port < ports_; ++port) settle_port(port);
    return {.gpu_to_gpu = std::move(gpu_to_gpu_),
            .gpu_to_port = std::move(gpu_to_port_),
            .port_to_port = std::move(port_to_port_)};
  }

 private:
  // To and from one NUMA node.
  struct Hub {
    std::vector<Route> gpus, ports;
  };

  std::vector<Route> search_from(int node) const {
    return routes_to(graph_, node,
                     options_.nvlink_through_gpu ? ThroughGpu::one : ThroughGpu::never);
  }

  void search() {
    for (int to = 0; to < gpus_; ++to) {
      const auto routes = search_from(graph_.gpus[at(to)]);
      for (int from = 0; from < gpus_; ++from)
        gpu_to_gpu_[at(from)][at(to)] = routes[at(graph_.gpus[at(from)])];
      for (int port = 0; port < ports_; ++port)
        port_to_gpu_[at(port)][at(to)] = routes[at(graph_.ports[at(port)])];
      local_cpu_.push_back(nearest_numa(routes));
    }
    for (int to = 0; to < ports_; ++to) {
      const auto routes = search_from(graph_.ports[at(to)]);
      for (int from = 0; from < gpus_; ++from)
        gpu_to_port_[at(from)][at(to)] = routes[at(graph_.gpus[at(from)])];
      for (int from = 0; from < ports_; ++from)
        port_to_port_[at(from)][at(to)] = routes[at(graph_.ports[at(from)])];
    }
    for (const auto& node : local_cpu_) {
      if (!node || hubs_.contains(*node)) continue;
      const auto routes = search_from(*node);
      hubs_[*node] = {.gpus = ends_of(routes, graph_.gpus, gpus_),
                      .ports = ends_of(routes, graph_.ports, ports_)};
    }
  }

  std::optional<int> nearest_numa(const std::vector<Route>& routes) const {
    std::optional<int> nearest;
    for (const int node : graph_.numa) {
      const Route& route = routes[at(node)];
      if (!route.exists()) continue;
      if (!nearest || route.hops < routes[at(*nearest)].hops) nearest = node;
    }
    return nearest;
  }

  // The hub of the GPU's own CPU; null where it has none.
  const Hub* hub_of(int gpu) const {
    const auto& node = local_cpu_[at(gpu)];
    return node ? &hubs_.at(*node) : nullptr;
  }

  void lead_peers_through_cpu() {
    const PeerRule rule(machine_, options_.peer_level);
    for (int to = 0; to < gpus_; ++to) {
      const Hub* hub = hub_of(to);
      if (hub == nullptr) continue;
      for (int from = 0; from < gpus_; ++from) {
        Route& route = gpu_to_gpu_[at(from)][at(to)];
        if (from == to || !hub->gpus[at(from)].exists()) continue;
        const auto access = rule.access({DeviceKind::gpu, from}, {DeviceKind::gpu, to}, route.kind);
        if (access != PeerAccess::direct) route = joined(hub->gpus[at(from)], hub->gpus[at(to)]);
      }
    }
  }

  void mark_c2c() {
    for (int port = 0; port < ports_; ++port) {
      for (int gpu = 0; gpu < gpus_; ++gpu) {
        const Hub* hub = hub_of(gpu);
        if (hub == nullptr) continue;
        if (merged(hub->gpus[at(gpu)].kind, hub->ports[at(port)].kind) != PathKind::P2C) continue;
        for (Route* route : {&gpu_to_port_[at(gpu)][at(port)], &port_to_gpu_[at(port)][at(gpu)]})
          route->kind = std::min(route->kind, PathKind::P2C);
      }
    }
  }

  // The adapters a GPU's channels use, one after the other (ncclTopoGetLocalNet).
  struct Turn {
    std::vector<int> ports;
    int first = 0;
    int each = 1;  // how many of them this GPU uses

    [[nodiscard]] int port_of(int channel) const {
      return ports[at((first + channel % each) % static_cast<int>(ports.size()))];
    }
  };

  Turn turn_of(int gpu) const {
    Turn turn{.ports = nearest(gpu_to_port_[at(gpu)]), .first = gpu};
    const auto count = static_cast<int>(turn.ports.size());
    if (count == 0) return turn;
    const auto sharers = static_cast<int>(nearest(port_to_gpu_[at(turn.ports.front())]).size());
    if (std::has_single_bit(static_cast<unsigned>(count))) turn.first = mirrored(gpu, count);
    turn.each = sharers == 0 ? count : (count + sharers - 1) / sharers;
    return turn;
  }

  // The GPU that stands in for others at an adapter (ncclTopoGetLocalGpu), and those it was chosen
  // from.
  struct StandIn {
    std::optional<int> gpu;
    std::vector<int> near;
  };

  StandIn stand_in(int port) const {
    StandIn found{.gpu = std::nullopt, .near = nearest(port_to_gpu_[at(port)])};
    std::vector<Turn> turns;
    for (const int gpu : found.near) turns.push_back(turn_of(gpu));
    for (int channel = 0; channel < kMaxChannels; ++channel) {
      for (std::size_t i = 0; i < turns.size(); ++i) {
        if (turns[i].ports.empty() || turns[i].port_of(channel) != port) continue;
        found.gpu = found.near[i];
        return found;
      }
    }
    return found;
  }

  void settle_port(int port) {
    StandIn proxy;
    if (options_.nic_through_gpu) proxy = stand_in(port);
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      const bool changed = settle(gpu, port, proxy.gpu == gpu ? std::nullopt : proxy.gpu);
      // NCCL asks anew for each GPU; only a change of one of these gives another answer.
      if (changed && options_.nic_through_gpu && std::ranges::count(proxy.near, gpu) > 0)
        proxy = stand_in(port);
    }
  }

  // Whether the route from the GPU to the adapter, or back, is another one now.
  bool settle(int gpu, int port, std::optional<int> proxy) {
    Route& route = gpu_to_port_[at(gpu)][at(port)];
    if (proxy) {
      const Route& theirs = gpu_to_port_[at(*proxy)][at(port)];
      const Route& between = gpu_to_gpu_[at(gpu)][at(*proxy)];
      const bool better = theirs.GBps > route.GBps || route.kind > PathKind::PXN;
      if (theirs.kind <= options_.nic_through_gpu_level && between.kind <= PathKind::NVL &&
          better) {
        route = joined(between, theirs);
        route.kind = PathKind::PXN;
      } else {
        proxy.reset();
      }
    }
    const bool diverted = route.kind < PathKind::PHB && lead_around(gpu, port, proxy);
    return proxy.has_value() || diverted;
  }

  // Without GPUDirect data takes the way over the GPU's CPU; false where it is on.
  bool lead_around(int gpu, int port, std::optional<int> proxy) {
    const PathKind distance = gpu_to_port_[at(proxy.value_or(gpu))][at(port)].kind;
    const Gpu& device = machine_.gpus[at(gpu)];
    if (gpudirect(device, machine_.nics[at(port)], distance, options_) == GpuDirect::on)
      return false;
    const Hub* hub = hub_of(gpu);
    if (hub == nullptr || !hub->ports[at(port)].exists()) return false;
    const Route around = joined(hub->gpus[at(gpu)], hub->ports[at(port)]);
    gpu_to_port_[at(gpu)][at(port)] = around;
    port_to_gpu_[at(port)][at(gpu)] = around;
    return true;
  }

  const Machine& machine_;
  const PathOptions& options_;
  const PathGraph graph_;
  const int gpus_, ports_;
  Matrix gpu_to_gpu_, gpu_to_port_, port_to_gpu_, port_to_port_;
  std::vector<std::optional<int>> local_cpu_;  // of each GPU: a node
  std::map<int, Hub> hubs_;                    // by node
};

}  // namespace

NcclPaths nccl_paths(const Machine& machine, const PathOptions& options) {
  return Calculation(machine, options).run();
}

}  // namespace lockstep::topology
