#include "tests/topology/acceptance/recorded_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tests/topology/corpus.h"
#include "topology/advice/gid_facts.h"
#include "topology/findings/judge.h"
#include "topology/merge.h"
#include "topology/readers/formats.h"

namespace lockstep::topology::test {

RecordedHost host_of(Machine machine, AdviceOptions options) {
  PathTable paths = paths_of(machine);
  for (Finding& finding : judge(machine, paths)) machine.findings.push_back(std::move(finding));
  options.gids = gid_facts(machine);
  HostAdvice advice = advise(machine, paths, options);
  return {std::move(machine), std::move(paths), std::move(advice)};
}

std::optional<RecordedHost> recorded_host(const std::vector<std::string>& names,
                                          AdviceOptions options) {
  std::vector<Machine> parts;
  for (const std::string& name : names) {
    const auto recording = corpus(name);
    if (!recording) return std::nullopt;
    parts.push_back(read_recording(*recording).machine);
  }
  return host_of(merge(std::move(parts)), std::move(options));
}

std::string value_of(const HostAdvice& advice, const std::string& variable) {
  for (const Advice& one : advice.settings) {
    if (one.variable == variable && !one.kept) return one.value;
  }
  return "";
}

std::string unset_reason(const HostAdvice& advice, const std::string& variable) {
  for (const Unset& one : advice.unset) {
    if (one.variable == variable) return one.reason;
  }
  return "";
}

std::vector<std::string> rails_of(const HostAdvice& advice) {
  std::vector<std::string> rails;
  for (const GpuRail& rail : advice.rails) {
    const std::string nic =
        rail.nic_device.empty() ? fmt::format("NIC{}", rail.nic) : rail.nic_device;
    rails.push_back(fmt::format("GPU{} {} {}", rail.gpu, nic, to_string(rail.kind)));
  }
  return rails;
}

std::vector<std::string> findings_of(const Machine& machine, const std::string& code) {
  std::vector<std::string> found;
  for (const Finding& finding : machine.findings) {
    if (finding.code == code)
      found.push_back(fmt::format("{}: {}", to_string(finding.severity), finding.message));
  }
  return found;
}

std::vector<std::string> alarms_of(const Machine& machine) {
  std::set<std::string> codes;
  for (const Finding& finding : machine.findings) {
    if (finding.severity != Severity::info) codes.insert(finding.code);
  }
  return {codes.begin(), codes.end()};
}

}  // namespace lockstep::topology::test
