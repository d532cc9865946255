// How a figure is written in JSON: what was not measured, or is not a number, is null, never 0.
#pragma once

#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>

namespace lockstep::runtime::metrics {

template <typename Value>
[[nodiscard]] nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  if (!value) return nullptr;
  if constexpr (std::floating_point<Value>) {
    if (!std::isfinite(*value)) return nullptr;
  }
  return *value;
}

}  // namespace lockstep::runtime::metrics
