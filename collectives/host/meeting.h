// How the ranks of a host come by each other's segments.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/host/segment.h"
#include "engine/device/memory.h"

namespace lockstep::collectives::host {

using Segments = std::vector<std::shared_ptr<Segment>>;

struct SegmentRequest {
  std::string name;
  std::size_t bytes = 0;
  engine::Sharing sharing = engine::Sharing::exchanged;  // exchanged or host

  friend bool operator==(const SegmentRequest&, const SegmentRequest&) = default;
  [[nodiscard]] std::string text() const;  // "gradients (1024 bytes, one a rank)"
};

// Thread rule: one thread a rank.
class Meeting {
 public:
  virtual ~Meeting() = default;

  // Collective: returns when all ranks have made the same request. With Sharing::exchanged the
  // segments of all ranks by rank, with Sharing::host the one of rank 0. Errors: CollectiveError
  // naming two ranks that disagree, or those that did not come in time.
  [[nodiscard]] virtual Segments exchange(const SegmentRequest& request) = 0;
};

// The error of two ranks that asked for different things; of no rank that differs, an empty text.
[[nodiscard]] std::string disagreement(const std::vector<SegmentRequest>& requests,
                                       const std::vector<std::string>& names);

}  // namespace lockstep::collectives::host
