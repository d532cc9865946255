// A read-only view of a host's files: /sys, /proc, /etc, /dev and /run, live or recorded.
//
// The probe reads nothing but through this interface, so that one code reads the live host, a
// folder that a test has built and a recorded snapshot. Paths are absolute within the tree
// ("/sys/class"), whatever lies under it. No call throws because a file is missing or may not be
// read. Thread rule: const calls from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology {

enum class FileStatus { read, absent, refused };

// `text` is filled where status is `read`. Refused: it is there, but reading it fails (permission,
// an attribute that has no value now, or a recording that left it out).
struct FileText {
  FileStatus status = FileStatus::absent;
  std::string text;
};

class FileTree {
 public:
  virtual ~FileTree() = default;

  // At most `limit` bytes from `offset` on; none where the file ends before.
  [[nodiscard]] virtual FileText read_at(std::string_view path, std::size_t offset,
                                         std::size_t limit) const = 0;

  // At most the first `limit` bytes.
  [[nodiscard]] FileText read(std::string_view path, std::size_t limit) const {
    return read_at(path, 0, limit);
  }

  // Names in a folder (links followed), in natural order (mlx5_2 before mlx5_10); empty where it is
  // none or cannot be read.
  [[nodiscard]] virtual std::vector<std::string> list(std::string_view path) const = 0;

  [[nodiscard]] virtual bool exists(std::string_view path) const = 0;

  // The path without links in it; empty where it leads to nothing or out of the tree.
  [[nodiscard]] virtual std::optional<std::string> real_path(std::string_view path) const = 0;
};

// Sorts names as people count: runs of digits by their value.
void sort_naturally(std::vector<std::string>& names);

}  // namespace lockstep::topology
