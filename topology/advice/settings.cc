#include "topology/advice/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/advice/hazards.h"
#include "topology/advice/interfaces.h"
#include "topology/advice/name_list.h"
#include "topology/advice/providers.h"
#include "topology/advice/variables.h"
#include "topology/letters.h"

namespace lockstep::topology {
namespace {

bool is_of_nccl(const Setting& setting) {
  return setting.variable.starts_with("NCCL_") && !is_foreign(setting.variable);
}

// Whether both lists admit the same active ports of this host.
bool same_devices(const Situation& situation, std::string_view a, std::string_view b) {
  const NameList left = parse_name_list(a), right = parse_name_list(b);
  const auto& nics = situation.machine.nics;
  return std::all_of(nics.begin(), nics.end(), [&](const Nic& nic) {
    return !rdma_layer(nic) || nic.state == NicState::down ||
           admits(left, nic.name, nic.port) == admits(right, nic.name, nic.port);
  });
}

// Whether both take the same interface first and neither any of containers.
bool same_interface(const Situation& situation, std::string_view a, std::string_view b) {
  const auto first = [&](std::string_view value) -> const Interface* {
    const NameList list = parse_name_list(value);
    for (const Interface& interface : situation.machine.interfaces) {
      if (admits(list, interface.name) && interface.up.value_or(true) &&
          !interface.addresses.empty()) {
        return &interface;
      }
    }
    return nullptr;
  };
  return first(a) == first(b);
}

bool means_the_same(const Situation& situation, const Advice& advised, const Setting& setting) {
  if (setting.variable == "NCCL_IB_HCA") {
    return same_devices(situation, setting.value, advised.value);
  }
  if (setting.variable == "NCCL_SOCKET_IFNAME") {
    return same_interface(situation, setting.value, advised.value);
  }
  return same_letters(setting.value, advised.value);
}

// Whether settings are all that was read.
bool knows_nothing(const Machine& machine) {
  return machine.gpus.empty() && machine.nics.empty() && machine.interfaces.empty() &&
         machine.numa.empty() && machine.switches.empty() && machine.system.product.empty();
}

class Judge {
 public:
  Judge(const Situation& situation, std::span<const Advice> advised)
      : situation_(situation),
        advised_(advised),
        settings_(effective_settings(situation.machine.system)),
        context_{.nccl = situation.nccl,
                 .duplicate_gid =
                     std::any_of(situation.options.gids.begin(), situation.options.gids.end(),
                                 [](const GidFacts& g) { return g.duplicate; }),
                 .crosses_hosts = situation.crosses_hosts(),
                 .machine = &situation.machine},
        only_settings_(knows_nothing(situation.machine)) {}

  JudgedSettings run() {
    for (const Setting& setting : settings_) judge(setting);
    find_hidden();
    return std::move(judged_);
  }

 private:
  void judge(const Setting& setting) {
    Advice kept;
    kept.variable = setting.variable;
    kept.value = setting.value;
    kept.kept = true;
    kept.origin = setting.origin;
    if (!is_known(setting)) {
      unknown(setting, kept);
    } else if (const auto manager = manager_of(situation_.provider, setting.variable);
               !manager.empty()) {
      kept.standing = Standing::provider;
      kept.reason = fmt::format("left alone: {}", manager);
    } else {
      weigh(setting, kept);
    }
    judged_.kept.push_back(std::move(kept));
  }

  // A library of a version newer than our table knows more than it.
  bool is_known(const Setting& setting) const {
    const auto& known = situation_.options.known_variables;
    if (known && std::find(known->begin(), known->end(), setting.variable) != known->end()) {
      return true;
    }
    const Variable* variable = find_variable(setting.variable);
    return variable != nullptr && !known && exists_in(*variable, situation_.nccl);
  }

  void unknown(const Setting& setting, Advice& kept) {
    const Variable* variable = find_variable(setting.variable);
    std::string remedy = "remove it";
    if (variable != nullptr) {
      kept.reason = fmt::format("NCCL {} does not read it", to_string(situation_.nccl));
      if (variable->since > situation_.nccl) {
        kept.reason += fmt::format("; {} does", to_string(variable->since));
      }
    } else if (setting.variable.find_first_of(" \t\r\"'") != std::string::npos) {
      kept.reason = fmt::format(
          "no variable is called [{}]: NCCL's files know neither blanks around '=' nor quoting",
          setting.variable);
      remedy = "write NAME=VALUE without blanks";
    } else {
      kept.reason = "NCCL has no variable of that name";
      if (const auto meant = nearest_variable(setting.variable)) {
        kept.reason += fmt::format("; did you mean {}?", *meant);
        remedy = fmt::format("write {}", *meant);
      }
    }
    judged_.findings.push_back(
        {.severity = Severity::warning,
         .code = variable != nullptr ? "ineffective-variable" : "unknown-variable",
         .message = fmt::format("{} has no effect: {}", setting.variable, kept.reason),
         .where = setting.origin,
         .remedy = remedy});
  }

  void weigh(const Setting& setting, Advice& kept) {
    const auto advised = std::find_if(advised_.begin(), advised_.end(), [&](const Advice& advice) {
      return advice.variable == setting.variable;
    });
    const bool same = advised != advised_.end() && means_the_same(situation_, *advised, setting);
    std::vector<Hazard> hazards = hazards_of(setting, settings_, context_);
    if (provider_is_open(setting, hazards)) return leave_open(setting, kept, hazards.front());
    for (const Hazard& hazard : hazards) kept.evidence.push_back(hazard.says);
    if (advised != advised_.end()) {
      kept.advised = advised->value;
      kept.confidence = advised->confidence;
    }
    if (!kept.evidence.empty()) {
      kept.standing = Standing::harmful;
      kept.reason = kept.evidence.front();
      judged_.findings.push_back(
          {.severity = Severity::warning,
           .code = "harmful-setting",
           .message = fmt::format("{}={}: {}", setting.variable, setting.value,
                                  fmt::join(kept.evidence, "; ")),
           .where = setting.origin,
           .remedy = kept.advised.empty()
                         ? remedy_of(setting, hazards, settings_, context_)
                         : fmt::format("set {}={}", setting.variable, kept.advised)});
    } else if (advised == advised_.end()) {
      stand_alone(setting, kept);
    } else {
      kept.standing = same ? Standing::agrees : Standing::differs;
      kept.reason = same ? fmt::format("as advised: {}", advised->reason)
                         : fmt::format("advised was {}: {}", advised->value, advised->reason);
    }
  }

  // Neither harmful nor advised.
  void stand_alone(const Setting& setting, Advice& kept) const {
    if (const auto publisher = publisher_of(situation_.provider, setting); !publisher.empty()) {
      kept.standing = Standing::provider;
      kept.reason = fmt::format("left alone: {}", publisher);
    } else {
      kept.reason = only_settings_ ? "only settings were read, and nothing of the host they are for"
                                   : "nothing seen here speaks for it or against it";
    }
  }

  // Whether the only harm is one that would be none on machines of some provider, and nothing says
  // whose machine it is.
  [[nodiscard]] bool provider_is_open(const Setting& setting,
                                      std::span<const Hazard> hazards) const {
    return only_settings_ && situation_.provider == Provider::none && hazards.size() == 1 &&
           hazards.front().scope == HazardScope::unmanaged &&
           !managers_of(setting.variable).empty();
  }

  void leave_open(const Setting& setting, Advice& kept, const Hazard& hazard) {
    kept.reason = fmt::format(
        "cannot be judged without its host: right on machines of {}, whose own files set it; "
        "elsewhere {}",
        managers_of(setting.variable), hazard.says);
    judged_.findings.push_back(
        {.severity = Severity::info,
         .code = "provider-unknown",
         .message = fmt::format("{}={} {}", setting.variable, setting.value, kept.reason),
         .where = setting.origin,
         .remedy = "add a recording of the host"});
  }

  // The same variable set twice with different values: somebody believes the other one.
  void find_hidden() {
    for (const Setting& setting : situation_.machine.system.settings) {
      const auto winner =
          std::find_if(settings_.begin(), settings_.end(),
                       [&](const Setting& other) { return other.variable == setting.variable; });
      if (winner == settings_.end() || winner->value == setting.value) continue;
      judged_.findings.push_back(
          {.severity = Severity::info,
           .code = "hidden-setting",
           .message = fmt::format("{}={} has no effect: {} sets it to {}", setting.variable,
                                  setting.value, winner->origin, winner->value),
           .where = setting.origin,
           .remedy = ""});
    }
  }

  const Situation& situation_;
  std::span<const Advice> advised_;
  std::vector<Setting> settings_;
  HazardContext context_;
  bool only_settings_;
  JudgedSettings judged_;
};

}  // namespace

std::vector<Setting> effective_settings(const System& system) {
  std::vector<Setting> settings;
  for (const Setting& setting : system.settings) {
    const bool first = std::none_of(settings.begin(), settings.end(), [&](const Setting& other) {
      return other.variable == setting.variable;
    });
    if (first && is_of_nccl(setting)) settings.push_back(setting);
  }
  return settings;
}

JudgedSettings judge_settings(const Situation& situation, std::span<const Advice> advised) {
  return Judge(situation, advised).run();
}

}  // namespace lockstep::topology
