#include "collectives/host/meeting.h"

#include <fmt/format.h>

namespace lockstep::collectives::host {

std::string SegmentRequest::text() const {
  return fmt::format("{} ({} bytes, {})", name, bytes,
                     sharing == engine::Sharing::host ? "one for the host" : "one a rank");
}

std::string disagreement(const std::vector<SegmentRequest>& requests,
                         const std::vector<std::string>& names) {
  for (std::size_t r = 1; r < requests.size(); ++r) {
    if (requests[r] == requests[0]) continue;
    return fmt::format(
        "ranks disagree about shared memory: {} asked for {}, {} for {}; all ranks must make the "
        "same plan",
        names[0], requests[0].text(), names[r], requests[r].text());
  }
  return {};
}

}  // namespace lockstep::collectives::host
