#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/advice/comments.h"
#include "topology/advice/writers.h"

namespace lockstep::topology {
namespace {

void add_set(const HostAdvice& advice, std::string& text) {
  const bool any = std::any_of(advice.settings.begin(), advice.settings.end(),
                               [](const Advice& one) { return !one.kept; });
  if (!any) {
    const bool all_known = advice.unset.empty() && advice.findings.empty();
    text += all_known ? "\nNothing needs to be set: NCCL's defaults are right here.\n"
                      : "\nNothing is set; what could not be decided stands below.\n";
    return;
  }
  text += "\nset\n";
  for (const Advice& one : advice.settings) {
    if (one.kept) continue;
    text += fmt::format("  {}={}\n      why: {} (confidence {})\n", one.variable,
                        on_one_line(one.value), on_one_line(one.reason), to_string(one.confidence));
    for (const std::string& fact : one.evidence) {
      text += fmt::format("      - {}\n", on_one_line(fact));
    }
  }
}

void add_kept(const HostAdvice& advice, std::string& text) {
  bool headed = false;
  for (const Advice& one : advice.settings) {
    if (!one.kept) continue;
    if (!headed) text += "\nkept, as it was set before\n";
    headed = true;
    text += fmt::format("  {}={}\n      from {}: {}: {}\n", on_one_line(one.variable),
                        on_one_line(one.value), on_one_line(one.origin), to_string(one.standing),
                        on_one_line(one.reason));
    for (const std::string& fact : one.evidence) {
      if (fact != one.reason) text += fmt::format("      - {}\n", on_one_line(fact));
    }
  }
}

// "NIC3 mlx5_3"; "NIC3" where the recording does not name the device.
std::string nic_of(int nic, const std::string& device) {
  return device.empty() ? fmt::format("NIC{}", nic)
                        : fmt::format("NIC{} {}", nic, on_one_line(device));
}

void add_nics(const HostAdvice& advice, std::string& text) {
  if (!advice.rails.empty()) text += "\nrails\n";
  for (const GpuRail& rail : advice.rails) {
    text += fmt::format("  GPU{}  {} ({})\n", rail.gpu, nic_of(rail.nic, rail.nic_device),
                        to_string(rail.kind));
  }
  if (!advice.left_out.empty()) text += "\nleft out\n";
  for (const LeftOut& left : advice.left_out) {
    text += fmt::format("  {}: {}\n", nic_of(left.nic, left.nic_device), on_one_line(left.reason));
  }
}

}  // namespace

std::string explain(const HostAdvice& advice) {
  std::string text =
      fmt::format("{}: NCCL {}\n", advice.host.empty() ? "this host" : on_one_line(advice.host),
                  on_one_line(advice.nccl));
  add_set(advice, text);
  add_kept(advice, text);
  add_nics(advice, text);
  if (!advice.unset.empty()) text += "\nnot set\n";
  for (const Unset& one : advice.unset) {
    text += fmt::format("  {}: {}\n", one.variable, on_one_line(one.reason));
  }
  if (!advice.findings.empty()) text += "\nfindings\n";
  for (const Finding& finding : advice.findings) {
    text += fmt::format("  {}: {}", to_string(finding.severity), on_one_line(finding.message));
    if (!finding.where.empty()) text += fmt::format(" [{}]", on_one_line(finding.where));
    if (!finding.remedy.empty()) text += fmt::format("; {}", on_one_line(finding.remedy));
    text += "\n";
  }
  return text;
}

}  // namespace lockstep::topology
