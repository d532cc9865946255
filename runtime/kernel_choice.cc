#include "runtime/kernel_choice.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>

namespace lockstep::runtime {
namespace {

using engine::cpu::Isa;
using engine::cpu::LowProducts;

template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};
constexpr std::array kIsas{Named<Isa>{"portable", Isa::portable},
                           Named<Isa>{"avx512", Isa::avx512}};
constexpr std::array kLowProducts{Named<LowProducts>{"fp32", LowProducts::fp32},
                                  Named<LowProducts>{"onednn_bf16", LowProducts::onednn_bf16}};

template <class Names, class Enum>
std::string name_in(const Names& names, Enum value) {
  for (const auto& named : names) {
    if (named.value == value) return std::string(named.name);
  }
  throw std::logic_error("a kernel choice without a name");
}

template <class Enum, class Names>
Enum value_in(const Names& names, const nlohmann::json& plan, const char* key,
              const std::filesystem::path& path) {
  const auto kernels = plan.find("kernels");
  if (kernels != plan.end() && kernels->is_object()) {
    const auto name = kernels->find(key);
    for (const auto& named : names) {
      if (name != kernels->end() && *name == named.name) return named.value;
    }
  }
  throw PlanError(fmt::format(
      "{}: expected kernels.{} that this version knows; the plan is of another version of Lockstep",
      path.string(), key));
}

}  // namespace

KernelChoice best_kernels() {
  return {engine::cpu::best_isa(), engine::cpu::best_low_products()};
}

nlohmann::ordered_json to_json(const KernelChoice& choice) {
  return {{"isa", name_in(kIsas, choice.isa)},
          {"low_products", name_in(kLowProducts, choice.low_products)}};
}

nlohmann::json read_plan(const std::filesystem::path& path) {
  std::ifstream file(path);
  nlohmann::json plan = file ? nlohmann::json::parse(file, nullptr, false) : nlohmann::json();
  if (!plan.is_object()) {
    throw PlanError(fmt::format("{}: {}; give the plan.json of a run or of a checkpoint",
                                path.string(), file ? "is no JSON object" : "cannot be read"));
  }
  return plan;
}

KernelChoice kernels_of(const nlohmann::json& plan, const std::filesystem::path& path) {
  return {value_in<Isa>(kIsas, plan, "isa", path),
          value_in<LowProducts>(kLowProducts, plan, "low_products", path)};
}

void require_same_plan(const nlohmann::json& mine, const nlohmann::json& wanted,
                       const std::filesystem::path& path) {
  std::string keys;
  for (const auto& [key, value] : mine.items()) {
    if (key == "hash" || wanted.value(key, nlohmann::json()) == value) continue;
    keys += fmt::format("{}{}", keys.empty() ? "" : ", ", key);
  }
  if (keys.empty()) return;
  throw PlanError(fmt::format(
      "{} is another plan than this job's here: they differ in {}; use the job, the number of "
      "workers and threads, and the version of Lockstep that it was made with",
      path.string(), keys));
}

}  // namespace lockstep::runtime
