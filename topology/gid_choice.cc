#include "topology/gid_choice.h"

#include <algorithm>
#include <iterator>

namespace lockstep::topology {
namespace {

constexpr int kUnknownVersion = -1;

struct Entry {
  int index = 0;
  GidAddress address;  // all zero: the table has none at that index
  int version = kUnknownVersion;
  std::string netdev;

  [[nodiscard]] bool routable() const { return is_configured(address) && !is_link_local(address); }
};

int version_of(const std::string& type) {
  if (type.ends_with("v2")) return 2;
  if (type.ends_with("v1") || type == "IB") return 1;
  return kUnknownVersion;
}

// Ascending by index.
std::vector<Entry> readable_entries(const Nic& nic) {
  std::vector<Entry> entries;
  for (const Gid& gid : nic.gids) {
    const auto address = parse_gid_address(gid.address);
    if (!gid.readable || !address) continue;
    entries.push_back({gid.index, *address, version_of(gid.type), gid.netdev});
  }
  std::ranges::stable_sort(entries, {}, &Entry::index);
  return entries;
}

// One step of NCCL's scan: whether `candidate` takes the place of `current`. The first condition
// looks neither at the version nor at whether the address can be routed: as NCCL has it.
bool replaces(const Entry& candidate, const Entry& current, GidRule rule) {
  const AddressFamily family = family_of(candidate.address);
  if (family != rule.family) return false;
  if (family != family_of(current.address)) return true;
  if (!candidate.routable() || candidate.version != rule.roce_version) return false;
  return current.version != candidate.version || !current.routable();
}

int nccl_choice(const std::vector<Entry>& entries, GidRule rule) {
  Entry current;
  for (const Entry& entry : entries) {
    if (entry.index == 0 || replaces(entry, current, rule)) current = entry;
  }
  return current.index;
}

// Whether NCCL looks at the GID table of this port, and the table says enough to follow it.
bool is_chosen_by_table(const Nic& nic, const std::vector<Entry>& entries) {
  if (nic.kind == NicKind::infiniband || nic.kind == NicKind::efa || nic.kind == NicKind::other)
    return false;
  return std::ranges::any_of(entries, [&nic](const Entry& entry) {
    return nic.kind == NicKind::roce ? entry.version != kUnknownVersion : entry.version == 2;
  });
}

}  // namespace

GidChoice choose_gid(const Nic& nic, GidRule rule) {
  const std::vector<Entry> entries = readable_entries(nic);
  if (!is_chosen_by_table(nic, entries)) return {};
  GidChoice choice;
  choice.by_nccl = nccl_choice(entries, rule);

  std::vector<Entry> fitting;
  std::ranges::copy_if(entries, std::back_inserter(fitting), [rule](const Entry& entry) {
    return entry.routable() && family_of(entry.address) == rule.family &&
           entry.version == rule.roce_version;
  });
  if (fitting.empty()) return choice;
  const std::string own = own_interface(nic);
  auto right = std::ranges::find_if(
      fitting, [&own](const Entry& entry) { return !own.empty() && entry.netdev == own; });
  if (right == fitting.end()) right = fitting.begin();
  choice.right = right->index;
  for (const Entry& entry : fitting) {
    if (entry.index != right->index && entry.address == right->address)
      choice.duplicates.push_back(entry.index);
  }
  return choice;
}

std::string own_interface(const Nic& nic) {
  const auto is_own = [&nic](const Gid& gid) { return gid.netdev == nic.netdev; };
  if (!nic.netdev.empty() && std::ranges::any_of(nic.gids, is_own)) return nic.netdev;
  for (const Gid& gid : nic.gids) {
    if (gid.index != 0 || gid.netdev.empty()) continue;
    const auto address = parse_gid_address(gid.address);
    if (address && is_link_local(*address)) return gid.netdev;
  }
  return nic.netdev;
}

}  // namespace lockstep::topology
