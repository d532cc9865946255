// Sources: NCCL's findInterfaces; NVIDIA/nccl#331, #929, #286; horovod/horovod#310.
#include <fmt/format.h>

#include <algorithm>

#include "topology/advice/interfaces.h"
#include "topology/advice/rules.h"

namespace lockstep::topology {
namespace {

std::string shown(const Interface& interface) {
  return interface.addresses.empty()
             ? interface.name
             : fmt::format("{} ({})", interface.name, fmt::join(interface.addresses, ", "));
}

}  // namespace

Ruling socket_ifname(const Situation& situation) {
  const Machine& machine = situation.machine;
  if (!situation.crosses_hosts()) return {};
  const auto best = reachable_interface(machine);
  const auto taken = default_interfaces(machine);
  if (!best || taken.empty()) return {};
  const auto at = [&](int i) -> const Interface& {
    return machine.interfaces[static_cast<std::size_t>(i)];
  };
  const auto is_foreign_net = [&](int i) { return is_virtual(machine, at(i)); };
  const Interface& first = at(taken.front());
  const Interface& chosen = at(*best);

  Advice advice{.variable = "NCCL_SOCKET_IFNAME", .value = "=" + chosen.name};
  const auto foreign = std::find_if(taken.begin(), taken.end(), is_foreign_net);
  if (is_virtual(machine, first)) {
    advice.reason = fmt::format(
        "NCCL would find its peers over {}, an interface of this host alone", first.name);
  } else if (!has_routable_address(first)) {
    advice.reason =
        fmt::format("NCCL would find its peers over {}, whose address is link-local", first.name);
  } else if (is_point_to_point(first) && !is_point_to_point(chosen)) {
    advice.reason = fmt::format(
        "NCCL would find its peers over {}, a link to a switch that reaches other hosts only if "
        "rails are routed",
        first.name);
    advice.confidence = Confidence::medium;
  } else if (foreign != taken.end()) {
    advice.reason =
        fmt::format("{} is among the interfaces NCCL takes, and the order of interfaces is luck",
                    at(*foreign).name);
    advice.confidence = Confidence::medium;
  } else {
    return {};
  }
  advice.evidence.push_back(fmt::format("NCCL's own choice: {}", shown(first)));
  advice.evidence.push_back(fmt::format("reaches other hosts: {}", shown(chosen)));
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
