// Names of hosts as a user gives them: `--hosts a,b,c`, or a file of one name a line.
//
// Thread rule: pure functions, but for reading the file. Errors: HostListError, with what was found
// and where.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

class HostListError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Names or addresses between commas, in their order; none twice. A name cannot begin with '-' (ssh
// would take it for a flag) and holds neither blanks nor control characters.
[[nodiscard]] std::vector<std::string> hosts_of(std::string_view list);

// One name a line; blanks around it, empty lines, what follows a '#', a byte order mark and CRLF
// are skipped.
[[nodiscard]] std::vector<std::string> hosts_of_file(const std::filesystem::path& path);

}  // namespace lockstep::launcher
