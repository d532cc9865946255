// Which kernels a job runs on, as plan.json keeps it: what a run must repeat to get the same bits.
#pragma once

#include <filesystem>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "engine/cpu/kernels.h"
#include "engine/device/visibility.h"

namespace lockstep::runtime {

// A plan that cannot be followed. The message says which file, what differs, and what to do.
class LOCKSTEP_API PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct KernelChoice {
  engine::cpu::Isa isa = engine::cpu::Isa::portable;
  engine::cpu::LowProducts low_products = engine::cpu::LowProducts::fp32;
};

// The best that this machine has.
[[nodiscard]] LOCKSTEP_API KernelChoice best_kernels();

// {"isa": "avx512", "low_products": "fp32"}
[[nodiscard]] LOCKSTEP_API nlohmann::ordered_json to_json(const KernelChoice& choice);

// A plan.json of an earlier run. Throws PlanError where it cannot be read or names no kernels.
[[nodiscard]] LOCKSTEP_API nlohmann::json read_plan(const std::filesystem::path& path);
[[nodiscard]] LOCKSTEP_API KernelChoice kernels_of(const nlohmann::json& plan,
                                                   const std::filesystem::path& path);

// Throws PlanError that names the keys which differ, unless `mine` is `wanted`.
LOCKSTEP_API void require_same_plan(const nlohmann::json& mine, const nlohmann::json& wanted,
                                    const std::filesystem::path& path);

}  // namespace lockstep::runtime
