// The words that JSON has for the values of enumerations.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topology/fabric.h"
#include "topology/machine.h"

namespace lockstep::topology {

[[nodiscard]] inline std::string_view name_of(LinkKind kind) {
  return to_string(kind);
}
[[nodiscard]] inline std::string_view name_of(NicKind kind) {
  return to_string(kind);
}
[[nodiscard]] inline std::string_view name_of(NicState state) {
  return to_string(state);
}
[[nodiscard]] inline std::string_view name_of(Severity severity) {
  return to_string(severity);
}
[[nodiscard]] std::string_view name_of(InterfaceKind kind);
[[nodiscard]] std::string_view name_of(Provider provider);
[[nodiscard]] std::string_view name_of(AdapterKind kind);

// The value of that name. REQUIRES of Enum: values from 0 without gaps.
template <typename Enum>
[[nodiscard]] std::optional<Enum> value_named(std::string_view name) {
  for (int i = 0; !name_of(static_cast<Enum>(i)).empty(); ++i) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// All names, for messages: "nvlink, xgmi, c2c".
template <typename Enum>
[[nodiscard]] std::string names_of() {
  std::string names;
  for (int i = 0; !name_of(static_cast<Enum>(i)).empty(); ++i) {
    if (i > 0) names += ", ";
    names += name_of(static_cast<Enum>(i));
  }
  return names;
}

}  // namespace lockstep::topology
