#include "topology/readers/hwloc_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace lockstep::topology {
namespace {

int number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : -1;
}

int line_at(std::string_view text, std::ptrdiff_t offset) {
  const auto end =
      std::min(text.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, end), '\n'));
}

std::string info_of(pugi::xml_node node, const char* name) {
  return node.find_child_by_attribute("info", "name", name).attribute("value").value();
}

}  // namespace

std::string_view HwlocObject::attribute(const char* name) const {
  return node.attribute(name).value();
}

std::string HwlocObject::info(const char* name) const {
  return info_of(node, name);
}

std::optional<CpuSet> HwlocObject::set(const char* name) const {
  return parse_hwloc_set(attribute(name));
}

bool HwlocObject::is_io() const {
  return type == "Bridge" || type == "PCIDev" || type == "OSDev" || type == "Misc";
}

HwlocFile::HwlocFile(const Recording& recording) {
  const pugi::xml_parse_result result =
      document_.load_buffer(recording.text.data(), recording.text.size());
  topology_ = document_.child("topology");
  if (!topology_ || !topology_.child("object")) {
    throw ReadError(recording.name, result ? 0 : line_at(recording.text, result.offset),
                    result
                        ? "expected <topology> with objects as hwloc writes it, found neither"
                        : fmt::format("expected XML as hwloc writes it: {}", result.description()));
  }
  truncated_ = !result;
  const char first = topology_.attribute("version").value()[0];
  bits_ = first >= '3' && first <= '9';

  struct Pending {
    pugi::xml_node node;
    int parent;
    int depth;
  };
  std::vector<Pending> pending;
  const auto push_children = [&pending](pugi::xml_node node, int parent, int depth) {
    const std::size_t before = pending.size();
    for (const pugi::xml_node child : node.children("object"))
      pending.push_back({child, parent, depth});
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(before), pending.end());
  };
  push_children(topology_, HwlocObject::kNone, 0);
  while (!pending.empty()) {
    const Pending next = pending.back();
    pending.pop_back();
    HwlocObject object;
    object.node = next.node;
    object.type = next.node.attribute("type").value();
    object.parent = next.parent;
    if (object.is_io()) object.address = parse_pci_address(object.attribute("pci_busid"));
    objects_.push_back(object);
    if (next.depth < kDeepest)
      push_children(next.node, static_cast<int>(objects_.size()) - 1, next.depth + 1);
    else if (next.node.child("object"))
      truncated_ = true;
  }
}

OsDeviceKind HwlocFile::os_device_kind(const HwlocObject& object) const {
  const int type = number(object.attribute("osdev_type"));
  if (type < 0) return OsDeviceKind::other;
  if (bits_) {
    if ((type & 32) != 0) return OsDeviceKind::rdma;
    if ((type & 16) != 0) return OsDeviceKind::network;
    return (type & 12) != 0 ? OsDeviceKind::gpu : OsDeviceKind::other;
  }
  if (type == 2) return OsDeviceKind::network;
  if (type == 3) return OsDeviceKind::rdma;
  return type == 1 || type == 5 ? OsDeviceKind::gpu : OsDeviceKind::other;
}

int HwlocFile::above(int index, bool (*passes)(const HwlocObject&)) const {
  int at = objects_[static_cast<std::size_t>(index)].parent;
  while (at != HwlocObject::kNone && !passes(objects_[static_cast<std::size_t>(at)]))
    at = objects_[static_cast<std::size_t>(at)].parent;
  return at;
}

std::string HwlocFile::info(std::string_view type, const char* name) const {
  for (const HwlocObject& object : objects_) {
    if (object.type != type) continue;
    auto value = object.info(name);
    if (!value.empty()) return value;
  }
  auto value = objects_.front().info(name);
  return value.empty() ? info_of(topology_, name) : value;
}

std::optional<CpuSet> parse_hwloc_set(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::string mask;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    // "0xf...f" stands before a set without end: all CPUs there ever may be, which is not a list.
    if (word == "0xf...f") return std::nullopt;
    if (word.starts_with("0x")) word.remove_prefix(2);
    if (!mask.empty()) mask += ',';
    mask += word.empty() ? "0" : word;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return CpuSet::from_mask(mask);
}

}  // namespace lockstep::topology
