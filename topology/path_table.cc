#include <algorithm>
#include <array>
#include <utility>

#include "topology/paths.h"

namespace lockstep::topology {
namespace {

constexpr std::array<std::string_view, 13> kKindNames = {
    "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS", "unknown"};

std::pair<DeviceId, DeviceId> ends(const Path& path) {
  return {path.from, path.to};
}

}  // namespace

PathTable::PathTable(std::vector<Path> paths) : paths_(std::move(paths)) {
  std::stable_sort(paths_.begin(), paths_.end(),
                   [](const Path& a, const Path& b) { return ends(a) < ends(b); });
}

Path PathTable::between(DeviceId from, DeviceId to) const {
  if (from == to) return {from, to, PathKind::LOC, "LOC", std::nullopt};
  const auto find = [this](DeviceId a, DeviceId b) {
    const auto at =
        std::lower_bound(paths_.begin(), paths_.end(), std::pair(a, b),
                         [](const Path& path, const auto& wanted) { return ends(path) < wanted; });
    return at != paths_.end() && ends(*at) == std::pair(a, b) ? &*at : nullptr;
  };
  const Path* path = find(from, to);
  if (path == nullptr) path = find(to, from);
  if (path == nullptr) return {from, to, PathKind::unknown, "unknown", std::nullopt};
  return {from, to, path->kind, path->label, path->GBps};
}

std::string_view to_string(PathKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::optional<PathKind> parse_path_kind(std::string_view text) {
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), text);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<PathKind>(found - kKindNames.begin());
}

}  // namespace lockstep::topology
