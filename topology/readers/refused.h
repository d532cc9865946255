// What other tools write about clusters, and is not read: models and exports that describe a
// fabric second hand.
//
// Thread rule: a pure function, linear in the text.
#pragma once

#include <optional>
#include <string_view>

namespace lockstep::topology {

// Why `text` is refused, by the name of what it is, and what to give instead; empty where it is
// none of these.
[[nodiscard]] std::optional<std::string_view> refusal_of(std::string_view text);

}  // namespace lockstep::topology
