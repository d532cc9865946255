#include "topology/stated_paths.h"

#include <algorithm>
#include <charconv>

#include "topology/bandwidth.h"

namespace lockstep::topology {
namespace {

const Gpu* find_gpu(const Machine& machine, DeviceId id) {
  const bool is_there = id.kind == DeviceKind::gpu && id.index >= 0 &&
                        id.index < static_cast<int>(machine.gpus.size());
  return is_there ? &machine.gpus[static_cast<std::size_t>(id.index)] : nullptr;
}

bool is_end(DeviceId id) {
  return id.kind == DeviceKind::gpu || id.kind == DeviceKind::nic;
}

}  // namespace

std::optional<int> nvlinks_of_label(std::string_view label) {
  if (!label.starts_with("NV")) return std::nullopt;
  label.remove_prefix(2);
  int count = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), count);
  if (error != std::errc() || end != label.data() + label.size() || count < 1) return std::nullopt;
  return count;
}

PathKind kind_of_label(std::string_view label) {
  if (nvlinks_of_label(label)) return PathKind::NVL;
  if (label == "NODE") return PathKind::PHB;
  return parse_path_kind(label).value_or(PathKind::unknown);
}

std::vector<Path> stated_paths(const Machine& machine) {
  std::vector<Path> paths;
  for (const StatedPath& stated : machine.stated) {
    if (!is_end(stated.from) || !is_end(stated.to) || stated.from == stated.to) continue;
    Path path{.from = stated.from,
              .to = stated.to,
              .kind = kind_of_label(stated.label),
              .label = stated.label,
              .GBps = std::nullopt};
    const auto links = nvlinks_of_label(stated.label);
    const Gpu* from = find_gpu(machine, stated.from);
    const Gpu* to = find_gpu(machine, stated.to);
    if (links && from != nullptr && to != nullptr) {
      const auto a = nvlink_GBps(*from), b = nvlink_GBps(*to);
      if (a && b) path.GBps = *links * std::min(*a, *b);
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace lockstep::topology
