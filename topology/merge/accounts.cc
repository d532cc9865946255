#include "topology/merge/accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topology/machine.h"

namespace lockstep::topology::merging {

std::optional<std::string> stated(const std::string& value) {
  return value.empty() ? std::nullopt : std::optional(value);
}

std::optional<CpuSet> stated(const CpuSet& value) {
  return value.empty() ? std::nullopt : std::optional(value);
}

std::optional<NicKind> stated(NicKind value) {
  return value == NicKind::unknown ? std::nullopt : std::optional(value);
}

std::optional<NicState> stated(NicState value) {
  return value == NicState::unknown ? std::nullopt : std::optional(value);
}

std::string shown(int value) {
  return fmt::format("{}", value);
}

std::string shown(bool value) {
  return value ? "yes" : "no";
}

std::string shown(double value) {
  return fmt::format("{:g}", value);
}

std::string shown(const std::string& value) {
  return value;
}

std::string shown(const CpuSet& value) {
  return fmt::format("CPUs {}", value.to_list());
}

std::string shown(const PciAddress& value) {
  return to_string(value);
}

std::string shown(NicKind value) {
  return std::string(to_string(value));
}

std::string shown(NicState value) {
  return std::string(to_string(value));
}

bool same(double a, double b) {
  return std::abs(a - b) <= 0.02 * std::max(std::abs(a), std::abs(b));
}

Finding disagreement(std::string_view what, std::string_view where, std::string first,
                     std::string second) {
  return {.severity = Severity::warning,
          .code = "recordings-disagree",
          .message = fmt::format("{} of {}: {}, but {}", what, where, first, second),
          .where = std::string(where),
          .remedy =
              "the first is used; see which recording is out of date or of another host, and "
              "record it again"};
}

}  // namespace lockstep::topology::merging
