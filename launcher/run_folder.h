// The folder of a run: runs/NAME/ID/, where everything about it is kept.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::launcher {

struct RunFolder {
  std::string name;
  std::string id;              // UTC time and 4 hex digits: 20260131-235959-1a2b
  std::filesystem::path path;  // absolute
};

// Makes `runs`/`name`/ID/ with log/ in it, readable by its owner only, and points
// `runs`/`name`/latest to it, in one step. Throws std::filesystem::filesystem_error or
// std::system_error. REQUIRES: is_run_name(name).
[[nodiscard]] RunFolder create_run_folder(const std::filesystem::path& runs,
                                          const std::string& name);

// A name is one component of a path, and neither "latest" nor hidden.
[[nodiscard]] bool is_run_name(const std::string& name);

}  // namespace lockstep::launcher
