#include "topology/advice/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "topology/advice/hazards.h"

namespace lockstep::topology {

void refuse_harm(const HostAdvice& advice) {
  const HazardContext context{
      .nccl = parse_nccl_version(advice.nccl).value_or(kAssumedNccl),
      .duplicate_gid = std::any_of(advice.findings.begin(), advice.findings.end(),
                                   [](const Finding& f) { return f.code == "duplicate-gid"; })};
  std::vector<Setting> all;
  for (const Advice& one : advice.settings) all.push_back({one.variable, one.value, one.origin});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (advice.settings[i].kept) continue;
    const auto hazards = hazards_of(all[i], all, context);
    if (!hazards.empty()) {
      throw std::invalid_argument(
          fmt::format("{}={} for host {} is not written: {}; {}", all[i].variable, all[i].value,
                      advice.host, hazards.front().says, remedy_of(all[i], hazards, all, context)));
    }
  }
}

}  // namespace lockstep::topology
