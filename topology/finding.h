// Something about a machine or a fabric that its owner should know.
//
// Thread rule: a value.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::topology {

enum class Severity { error, warning, info };

struct Finding {
  Severity severity = Severity::warning;
  std::string code;     // a stable name in kebab case: "lost-nvlink"
  std::string message;  // one sentence, with the evidence: what was expected, what was found
  std::string where;    // devices ("SW0, SW4"), file:line, or host
  std::string remedy;   // what to do about it; may be empty for `info`

  bool operator==(const Finding&) const = default;
};

// "error", "warning", "info".
[[nodiscard]] std::string_view to_string(Severity severity);

}  // namespace lockstep::topology
