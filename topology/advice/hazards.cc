#include "topology/advice/hazards.h"
#include "topology/letters.h"
#include "topology/natural_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "topology/advice/interfaces.h"
#include "topology/advice/name_list.h"
#include "topology/advice/nics.h"
#include "topology/advice/variables.h"

namespace lockstep::topology {
namespace {

constexpr long kMostSockets = 64;

std::string value_of(std::span<const Setting> all, std::string_view variable) {
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Setting& setting) { return setting.variable == variable; });
  return found == all.end() ? std::string() : found->value;
}

long number_or(std::string_view text, long otherwise) {
  long number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<Hazard> sockets_hazard(const Setting& setting, std::span<const Setting> all) {
  constexpr std::string_view kThreads = "NCCL_SOCKET_NTHREADS", kSockets = "NCCL_NSOCKS_PERTHREAD";
  if (setting.variable != kThreads && setting.variable != kSockets) return std::nullopt;
  const auto value = [&](std::string_view variable) {
    return number_or(setting.variable == variable ? setting.value : value_of(all, variable), 1);
  };
  const long threads = value(kThreads), sockets = value(kSockets);
  // Values out of range are another hazard, and would overflow here.
  if (threads < 0 || threads > 1000 || sockets < 0 || sockets > 1000) return std::nullopt;
  if (threads * sockets <= kMostSockets) return std::nullopt;
  return Hazard{.says = fmt::format("{} threads of {} sockets are {} connections, and NCCL allows "
                                    "{}",
                                    threads, sockets, threads * sockets, kMostSockets),
                .correction = ""};
}

std::optional<Hazard> interface_hazard(const Setting& setting, const HazardContext& context) {
  if (setting.variable != "NCCL_SOCKET_IFNAME" || setting.value.empty()) return std::nullopt;
  const NameList list = parse_name_list(setting.value);
  // aws/deep-learning-containers#4756: images that set ^docker0 found their peers at 127.0.0.1.
  if (list.exclude && !names(list, "lo")) {
    return Hazard{.says =
                      "an exclusion replaces NCCL's own (docker, lo, virbr), so that this one "
                      "admits lo",
                  .correction = setting.value + (list.entries.empty() ? "lo" : ",lo")};
  }
  if (context.machine == nullptr || context.machine->interfaces.empty()) return std::nullopt;
  const auto& interfaces = context.machine->interfaces;
  const auto admitted = std::find_if(interfaces.begin(), interfaces.end(), [&](const Interface& i) {
    return admits(list, i.name) && i.up.value_or(true);
  });
  if (admitted == interfaces.end()) {
    return Hazard{.says = "it admits no interface of this host that is up", .correction = ""};
  }
  const bool only_local = std::all_of(interfaces.begin(), interfaces.end(), [&](const auto& i) {
    return !admits(list, i.name) || i.kind == InterfaceKind::loopback || i.name == "lo" ||
           is_virtual(*context.machine, i);
  });
  if (!only_local || !context.crosses_hosts) return std::nullopt;
  return Hazard{
      .says = fmt::format("it admits only {}, which other hosts do not reach", admitted->name),
      .correction = ""};
}

// The list as whole names: "=mlx5_1" of "mlx5_1", "^=mlx5_1" of "^mlx5_1".
std::string as_exact(const NameList& list, std::string_view value) {
  return list.exclude ? fmt::format("^={}", value.substr(1)) : fmt::format("={}", value);
}

void device_hazards(const Setting& setting, const HazardContext& context,
                    std::vector<Hazard>& hazards) {
  if (setting.variable != "NCCL_IB_HCA" || setting.value.empty() || context.machine == nullptr) {
    return;
  }
  std::vector<const Nic*> ports;
  for (const Nic& nic : context.machine->nics) {
    if (rdma_layer(nic) && is_named(nic)) ports.push_back(&nic);
  }
  if (ports.empty()) return;
  const NameList list = parse_name_list(setting.value);
  for (const NameList::Entry& entry : list.entries) {
    std::vector<std::string_view> also;
    bool found = false;
    for (const Nic* nic : ports) {
      found |= list.exact ? nic->name == entry.name : nic->name.starts_with(entry.name);
      // "mlx5" and "mlx5_" are meant as prefixes; what ends in a digit is meant as a name.
      if (!list.exact && !entry.name.empty() && nic->name != entry.name &&
          is_digit(entry.name.back()) && entry.name.find('_') != std::string::npos &&
          nic->name.starts_with(entry.name)) {
        also.push_back(nic->name);
      }
    }
    if (!also.empty()) {
      std::sort(also.begin(), also.end(), natural_less);
      also.erase(std::unique(also.begin(), also.end()), also.end());
      hazards.push_back(
          {.says = fmt::format("{} also matches {}", entry.name, fmt::join(also, " and ")),
           .correction = as_exact(list, setting.value)});
    }
    if (!found && !list.exclude) {
      hazards.push_back(
          {.says = fmt::format("{} is no RDMA device of this host", entry.name), .correction = ""});
    }
  }
  const auto usable = [&](const Nic* nic) {
    return nic->state != NicState::down && admits(list, nic->name, nic->port);
  };
  if (std::none_of(ports.begin(), ports.end(), usable)) {
    hazards.push_back(
        {.says = "it leaves no usable RDMA port: NCCL would fall back to TCP", .correction = ""});
  }
}

// What is right as a form and wrong in what it does, to be unset; the empty text: nothing.
std::string meaning_hazard(const Setting& setting, const HazardContext& context) {
  const auto& [variable, value, origin] = setting;
  if (variable == "NCCL_PROTO" && !value.starts_with('^')) {
    const std::string letters = in_small_letters(value);
    if (letters.find("ll128") != std::string::npos && letters.find('^') == std::string::npos) {
      return "LL128 is forced where NCCL would not use it, which can corrupt data";
    }
  }
  if (context.machine == nullptr) return {};
  const auto& nics = context.machine->nics;
  const auto is_active = [](const Nic& nic) {
    return rdma_layer(nic) && nic.state == NicState::active;
  };
  if (variable == "NCCL_IB_DISABLE" && value == "1" && context.crosses_hosts &&
      std::any_of(nics.begin(), nics.end(), is_active)) {
    return "RDMA is off although this host has active ports: hosts would talk by TCP";
  }
  const auto& links = context.machine->links;
  if (variable == "NCCL_P2P_DISABLE" && value == "1" &&
      std::any_of(links.begin(), links.end(),
                  [](const Link& link) { return link.kind == LinkKind::nvlink; })) {
    return "NVLink is not used with it: a diagnosis, not a cure";
  }
  return {};
}

bool is_needless_gid(const Setting& setting, const HazardContext& context) {
  return setting.variable == "NCCL_IB_GID_INDEX" && context.nccl >= NcclVersion{2, 21, 0} &&
         !context.duplicate_gid && setting.value != "-1" && !setting.value.empty();
}

}  // namespace

std::vector<Hazard> hazards_of(const Setting& setting, std::span<const Setting> all,
                               const HazardContext& context) {
  std::vector<Hazard> hazards;
  const auto add = [&](std::optional<Hazard> hazard) {
    if (hazard) hazards.push_back(*std::move(hazard));
  };
  if (const Variable* variable = find_variable(setting.variable)) {
    if (auto fault = fault_of_value(*variable, setting.value)) {
      hazards.push_back(
          {.says = std::move(fault->says), .correction = std::move(fault->correction)});
    }
  }
  add(sockets_hazard(setting, all));
  add(interface_hazard(setting, context));
  device_hazards(setting, context, hazards);
  if (is_needless_gid(setting, context)) {
    hazards.push_back({.says = "NCCL 2.21 and newer chooses the GID of each port by itself, and "
                               "one index for all is wrong as soon as a table differs",
                       .correction = "",
                       .scope = HazardScope::unmanaged});
  }
  if (auto says = meaning_hazard(setting, context); !says.empty()) {
    hazards.push_back({.says = std::move(says), .correction = ""});
  }
  return hazards;
}

std::string remedy_of(const Setting& setting, std::span<const Hazard> hazards,
                      std::span<const Setting> all, const HazardContext& context) {
  const std::string& value = hazards.front().correction;
  const bool is_one = !value.empty() && std::ranges::all_of(hazards, [&](const Hazard& hazard) {
    return hazard.correction == value;
  });
  if (is_one && hazards_of({setting.variable, value, setting.origin}, all, context).empty()) {
    return fmt::format("set {}={}", setting.variable, value);
  }
  return fmt::format("unset {}", setting.variable);
}

}  // namespace lockstep::topology
