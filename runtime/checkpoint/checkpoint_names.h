// Names in a checkpoints folder: `step-00000500`, and hidden ones for what is not, or no longer, a
// checkpoint:
// `.step-00000500.1f00ba12.tmp` (being written or removed), `.step-00000500.1f00ba12.old` (being
// replaced).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::runtime::checkpoint {

enum class Hidden { temporary, replaced };

struct HiddenName {
  std::int64_t step = 0;
  Hidden kind = Hidden::temporary;
};

[[nodiscard]] std::string step_name(std::int64_t step);
// Nothing for any other name.
[[nodiscard]] std::optional<std::int64_t> step_of(std::string_view name);

// A new name at each call.
[[nodiscard]] std::string hidden_name(std::int64_t step, Hidden kind);
[[nodiscard]] std::optional<HiddenName> hidden_of(std::string_view name);

}  // namespace lockstep::runtime::checkpoint
