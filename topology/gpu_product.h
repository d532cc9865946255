// The compute capability of GPUs with NVLink, by product name.
//
// For recordings that name a GPU but do not state its capability, on which NVLink's speed hangs.
// Source: NVIDIA's list of CUDA GPUs. Thread rule: a pure function.
#pragma once

#include <optional>
#include <string_view>

namespace lockstep::topology {

// "Tesla V100-SXM3-32GB-H": 70. Empty for products that are not listed.
[[nodiscard]] std::optional<int> compute_capability_of(std::string_view product);

}  // namespace lockstep::topology
