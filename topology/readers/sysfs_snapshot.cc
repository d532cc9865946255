#include "topology/readers/sysfs_snapshot.h"

#include <fmt/format.h>

#include "topology/probe/read_tree.h"
#include "topology/readers/snapshot_tree.h"

namespace lockstep::topology {

// By the first lines: an entry, but for blank lines and comments before it.
bool is_sysfs_snapshot(std::string_view text) {
  constexpr int kLooked = 20;
  for (int line = 0; line < kLooked && !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    std::string_view first = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (first.ends_with('\r')) first.remove_suffix(1);
    if (SnapshotTree::is_entry(first)) return true;
  }
  return false;
}

Reading read_sysfs_snapshot(const Recording& recording) {
  const SnapshotTree tree(recording.text);
  if (tree.size() == 0) {
    throw ReadError(recording.name, 0,
                    "expected lines such as \"F host/sys/class/net/eth0/type = '1'\", found none; "
                    "record /sys again");
  }
  Reading reading;
  reading.machine = read_tree(tree);
  reading.machine.sources = {"sysfs-snapshot"};
  if (tree.damaged_lines() > 0) {
    reading.machine.findings.push_back(
        {.severity = Severity::warning,
         .code = "damaged-recording",
         .message = fmt::format("{} lines are no entries of a /sys snapshot and were left out",
                                tree.damaged_lines()),
         .where = fmt::format("{}:{}", recording.name, tree.first_damaged_line()),
         .remedy = "record /sys again"});
  }
  return reading;
}

}  // namespace lockstep::topology
