// A recorded /sys, as a FileTree: one line an entry, each path below a name of the recording's own.
//
//   D host/sys/class                              a folder (folders above it need no line)
//   L host/sys/class/net/eth0 -> ../../devices/x  a link
//   F host/sys/class/net/eth0/type = '1\n'        a file, its content quoted as Python does
//   B host/proc/cpuinfo 1732 bytes omitted        a file that was left out: reads as refused
//
// The tree holds views of the text: memory is a small multiple of the number of lines. Links are
// followed at most kMostLinks times. Thread rule: as FileTree.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "topology/probe/file_tree.h"

namespace lockstep::topology {

class SnapshotTree final : public FileTree {
 public:
  // REQUIRES: `text` outlives the tree.
  explicit SnapshotTree(std::string_view text);

  // Lines that are neither of the above nor blank, and where the first of them is (0: none).
  [[nodiscard]] int damaged_lines() const { return damaged_; }
  [[nodiscard]] int first_damaged_line() const { return first_damaged_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  [[nodiscard]] FileText read_at(std::string_view path, std::size_t offset,
                                 std::size_t limit) const override;
  [[nodiscard]] std::vector<std::string> list(std::string_view path) const override;
  [[nodiscard]] bool exists(std::string_view path) const override;
  [[nodiscard]] std::optional<std::string> real_path(std::string_view path) const override;

  // Whether a line is an entry of such a recording.
  [[nodiscard]] static bool is_entry(std::string_view line);

 private:
  enum class Kind { folder, link, file, omitted };
  struct Entry {
    Kind kind = Kind::folder;
    std::string_view value;  // a link's target, a file's quoted content
  };

  static bool parse(std::string_view line, std::string_view& path, Entry& entry);
  [[nodiscard]] bool is_there(std::string_view key) const;

  std::map<std::string_view, Entry> entries_;  // by path without the first slash
  int damaged_ = 0;
  int first_damaged_ = 0;
};

}  // namespace lockstep::topology
