#include "topology/advice/doubts.h"

#include <algorithm>
#include <string_view>

namespace lockstep::topology {
namespace {

const Finding* finding_of(const Machine& machine, std::string_view code) {
  const auto found = std::ranges::find(machine.findings, code, &Finding::code);
  return found == machine.findings.end() ? nullptr : &*found;
}

}  // namespace

void doubt(const Machine& machine, std::vector<Advice>& advice) {
  const Finding* strangers = finding_of(machine, "different-hosts");
  const Finding* missing = finding_of(machine, "adapters-missing");
  for (Advice& one : advice) {
    if (strangers != nullptr) {
      one.confidence = Confidence::low;
      one.evidence.push_back(strangers->message);
    } else if (missing != nullptr && one.variable == "NCCL_IB_HCA") {
      one.confidence = one.confidence == Confidence::high ? Confidence::medium : Confidence::low;
      one.evidence.push_back(missing->message);
    }
  }
}

}  // namespace lockstep::topology
