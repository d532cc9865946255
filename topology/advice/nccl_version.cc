#include "topology/advice/nccl_version.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

namespace lockstep::topology {
namespace {

constexpr int kNewestPatch = 999;

}  // namespace

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  text = text.substr(0, text.find_first_of("+-"));
  std::array<int, 3> parts{0, 0, kNewestPatch};
  std::size_t count = 0;
  while (true) {
    if (count == parts.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts[count]);
    if (error != std::errc() || parts[count] < 0 || parts[count] > kNewestPatch) {
      return std::nullopt;
    }
    ++count;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  if (count < 2) return std::nullopt;
  return NcclVersion{parts[0], parts[1], parts[2]};
}

std::string to_string(NcclVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

}  // namespace lockstep::topology
