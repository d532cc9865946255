// All ranks must train the same thing: checked through the store before step 0, since a difference
// would show as a hang or as wrong sums.
#pragma once

#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/rendezvous/store_client.h"
#include "engine/device/visibility.h"

namespace lockstep::runtime::parallel {

class LOCKSTEP_API DisagreementError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One thing to agree on, as text whose lines can be shown: "graph", "buckets", ...
struct AgreementSection {
  std::string name;
  std::string text;
};

// Collective. Compares the hash of every section with rank 0's; where one differs, throws
// DisagreementError that names section, rank and the first line that is not the same. Cost: one
// small value a rank.
LOCKSTEP_API void require_agreement(collectives::rendezvous::StoreClient& store,
                                    std::span<const AgreementSection> sections,
                                    std::chrono::milliseconds deadline);

// The first line in which two texts differ, numbered from 1, as both have it.
[[nodiscard]] LOCKSTEP_API std::string first_difference(std::string_view mine,
                                                        std::string_view theirs);

}  // namespace lockstep::runtime::parallel
