#include "runtime/checkpoint/checkpoint_names.h"

#include <fmt/format.h>

#include <charconv>

#include "runtime/checkpoint/file_system.h"

namespace lockstep::runtime::checkpoint {
namespace {

constexpr std::string_view kStep = "step-";
constexpr std::string_view kTemporary = ".tmp";
constexpr std::string_view kReplaced = ".old";

}  // namespace

std::string step_name(std::int64_t step) {
  return fmt::format("{}{:08}", kStep, step);
}

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  const std::string_view digits = name.substr(kStep.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc{} || end != digits.data() + digits.size() || step_name(step) != name) {
    return std::nullopt;
  }
  return step;
}

std::string hidden_name(std::int64_t step, Hidden kind) {
  return fmt::format(".{}.{}{}", step_name(step), random_suffix(),
                     kind == Hidden::temporary ? kTemporary : kReplaced);
}

std::optional<HiddenName> hidden_of(std::string_view name) {
  if (!name.starts_with('.')) return std::nullopt;
  const bool replaced = name.ends_with(kReplaced);
  if (!replaced && !name.ends_with(kTemporary)) return std::nullopt;
  const auto step = step_of(name.substr(1, name.find('.', 1) - 1));
  if (!step) return std::nullopt;
  return HiddenName{*step, replaced ? Hidden::replaced : Hidden::temporary};
}

}  // namespace lockstep::runtime::checkpoint
