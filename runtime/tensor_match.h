// What differs between the tensors that a model has and those that a file holds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "runtime/checkpoint/safetensors.h"

namespace lockstep::runtime {

// A sentence for each difference, in the order of `wanted`, then what the file has over: a tensor
// that is missing (with the nearest name that nobody wanted), or is of another shape or type.
// Bytes of `wanted` are not looked at. Cost: O(n log n) names; O(n) for each missing one.
[[nodiscard]] LOCKSTEP_API std::vector<std::string> differences(
    std::span<const checkpoint::TensorView> wanted, std::span<const checkpoint::TensorView> found);

// The sentences as lines of one message, at most 20 of them and the number of the others.
[[nodiscard]] LOCKSTEP_API std::string listed(const std::vector<std::string>& sentences);

}  // namespace lockstep::runtime
