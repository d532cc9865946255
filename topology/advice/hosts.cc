#include "topology/advice/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace lockstep::topology {
namespace {

std::string value_on(const HostAdvice& host, const std::string& variable) {
  const auto found =
      std::find_if(host.settings.begin(), host.settings.end(),
                   [&](const Advice& advice) { return advice.variable == variable; });
  return found == host.settings.end() ? std::string() : found->value;
}

// Variables that are set anew somewhere: those that only are kept are in force as they are.
std::set<std::string> new_variables(std::span<const HostAdvice> hosts) {
  std::set<std::string> variables;
  for (const HostAdvice& host : hosts) {
    for (const Advice& advice : host.settings) {
      if (!advice.kept) variables.insert(advice.variable);
    }
  }
  return variables;
}

std::string shown(const Disagreement& disagreement) {
  const auto& first = disagreement.values.front();
  const auto other = std::find_if(disagreement.values.begin(), disagreement.values.end(),
                                  [&](const auto& value) { return value.second != first.second; });
  const auto value = [](const std::string& text) { return text.empty() ? "nothing" : text; };
  return fmt::format("{} is {} on {} and {} on {}", disagreement.variable, value(first.second),
                     first.first, value(other->second), other->first);
}

}  // namespace

std::vector<Disagreement> disagreements(std::span<const HostAdvice> hosts) {
  std::vector<Disagreement> found;
  for (const std::string& variable : new_variables(hosts)) {
    Disagreement disagreement{variable, {}};
    bool same = true;
    for (const HostAdvice& host : hosts) {
      disagreement.values.emplace_back(host.host, value_on(host, variable));
      same &= disagreement.values.back().second == disagreement.values.front().second;
    }
    if (!same) found.push_back(std::move(disagreement));
  }
  return found;
}

HostAdvice for_all_hosts(std::span<const HostAdvice> hosts) {
  const auto differing = disagreements(hosts);
  if (!differing.empty()) {
    std::vector<std::string> sentences;
    for (const Disagreement& one : differing) sentences.push_back(shown(one));
    throw std::invalid_argument(fmt::format(
        "expected one value for all {} hosts, found that hosts need their own: {}; write each "
        "host's file on that host",
        hosts.size(), fmt::join(sentences, "; ")));
  }
  HostAdvice all = hosts.front();
  if (hosts.size() > 1) all.host = "all hosts";
  return all;
}

}  // namespace lockstep::topology
