// Where a program lies that the user named as to a shell.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep::launcher {

// Says where was looked, and what was found there instead.
class ProgramNotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The path of the executable file that `name` means: itself where it holds a '/', else the first in
// the folders of `search_path` (as in PATH; an empty folder is the current one).
[[nodiscard]] std::string find_program(const std::string& name, std::string_view search_path);

}  // namespace lockstep::launcher
