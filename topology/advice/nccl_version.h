// A version of NCCL, as far as its behaviour depends on it.
//
// Thread rule: a value.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::topology {

struct NcclVersion {
  int major = 0, minor = 0, patch = 0;

  auto operator<=>(const NcclVersion&) const = default;
};

// The oldest NCCL that Lockstep takes, and the one assumed where nothing is known.
inline constexpr NcclVersion kOldestNccl{2, 19, 0};
inline constexpr NcclVersion kAssumedNccl{2, 28, 0};

// "2.28", "2.28.9", "2.28.9-1", "2.28.9+cuda13.0". A version without a patch is the newest of its
// minor: what 2.26.5 mended is mended in "2.26".
[[nodiscard]] std::optional<NcclVersion> parse_nccl_version(std::string_view text);

[[nodiscard]] std::string to_string(NcclVersion version);  // "2.28"

}  // namespace lockstep::topology
