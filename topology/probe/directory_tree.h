// The files below a folder of this machine, as a FileTree; "/" is the live host.
//
// Links that lead out of a root other than "/" are not followed. Reads never block: what is no
// regular file or folder is refused. Thread rule: as FileTree.
#pragma once

#include <filesystem>
#include <string>

#include "topology/probe/file_tree.h"

namespace lockstep::topology {

class DirectoryTree final : public FileTree {
 public:
  // A root that does not exist is an empty tree.
  explicit DirectoryTree(const std::filesystem::path& root);

  [[nodiscard]] FileText read_at(std::string_view path, std::size_t offset,
                                 std::size_t limit) const override;
  [[nodiscard]] std::vector<std::string> list(std::string_view path) const override;
  [[nodiscard]] bool exists(std::string_view path) const override;
  [[nodiscard]] std::optional<std::string> real_path(std::string_view path) const override;

 private:
  [[nodiscard]] std::optional<std::string> outside(std::string_view path) const;

  std::string root_;  // without links and final slash: "" is the live host
  bool exists_ = false;
};

}  // namespace lockstep::topology
