#include "topology/advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "topology/advice/doubts.h"
#include "topology/advice/providers.h"
#include "topology/advice/rules.h"
#include "topology/advice/settings.h"
#include "topology/advice/variables.h"

namespace lockstep::topology {
namespace {

bool is_read(const Situation& situation, const std::string& name) {
  const auto& known = situation.options.known_variables;
  if (known) return std::find(known->begin(), known->end(), name) != known->end();
  const Variable* variable = find_variable(name);
  return variable != nullptr && exists_in(*variable, situation.nccl);
}

Ruling rule_all(const Situation& situation) {
  Ruling all;
  for (const Rule rule : kRules) {
    Ruling one = rule(situation);
    std::move(one.set.begin(), one.set.end(), std::back_inserter(all.set));
    std::move(one.unset.begin(), one.unset.end(), std::back_inserter(all.unset));
    std::move(one.findings.begin(), one.findings.end(), std::back_inserter(all.findings));
  }
  return all;
}

// Splits off what this NCCL does not read and what the provider manages.
void leave_alone(const Situation& situation, Ruling& ruling) {
  std::vector<Advice> kept;
  for (Advice& advice : ruling.set) {
    const auto manager = manager_of(situation.provider, advice.variable);
    if (!manager.empty()) {
      ruling.unset.push_back(
          {advice.variable, fmt::format("left to {}: {}", to_string(situation.provider), manager)});
    } else if (!is_read(situation, advice.variable)) {
      ruling.unset.push_back(
          {advice.variable,
           fmt::format("this host's NCCL ({}) does not read it; {} would help because {}",
                       to_string(situation.nccl), advice.value, advice.reason)});
    } else {
      kept.push_back(std::move(advice));
    }
  }
  ruling.set = std::move(kept);
}

}  // namespace

HostAdvice advise(const Machine& machine, const PathTable& paths, const AdviceOptions& options) {
  const Situation situation = look_at(machine, paths, options);
  Ruling ruling = rule_all(situation);
  leave_alone(situation, ruling);
  doubt(machine, ruling.set);
  JudgedSettings judged = judge_settings(situation, ruling.set);

  HostAdvice advice;
  advice.host = machine.name;
  advice.nccl = to_string(situation.nccl);
  advice.rails = situation.rails.rails;
  advice.left_out = situation.nics.left_out;
  advice.findings = std::move(ruling.findings);
  const auto is_set = [&](const std::string& variable) {
    return std::any_of(judged.kept.begin(), judged.kept.end(),
                       [&](const Advice& kept) { return kept.variable == variable; });
  };
  for (Advice& one : ruling.set) {
    if (!is_set(one.variable)) advice.settings.push_back(std::move(one));
  }
  for (Unset& one : ruling.unset) {
    if (!is_set(one.variable)) advice.unset.push_back(std::move(one));
  }
  std::move(judged.kept.begin(), judged.kept.end(), std::back_inserter(advice.settings));
  std::move(judged.findings.begin(), judged.findings.end(), std::back_inserter(advice.findings));
  return advice;
}

std::string_view to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::high:
      return "high";
    case Confidence::medium:
      return "medium";
    case Confidence::low:
      break;
  }
  return "low";
}

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::agrees:
      return "agrees";
    case Standing::differs:
      return "differs";
    case Standing::harmful:
      return "harmful";
    case Standing::provider:
      return "provider";
    case Standing::unjudged:
      break;
  }
  return "unjudged";
}

}  // namespace lockstep::topology
