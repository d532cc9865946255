// Lists of host names as Slurm writes them: "login,node[1-3,07-12],rack[1-2]n[01-40]".
//
// Thread rule: a pure function.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology {

// One sentence: what was expected, what was found.
class HostListError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Elements stand between commas or blanks. Numbers keep the width of their range's first one:
// [07-12] is 07, 08, ..., 12; a range has at most 65,536. The names are in Slurm's order, which of
// several brackets counts the last fastest and the one before it slowest; repetitions are kept.
// Text after the last bracket is taken, as by Slurm since 23 and not before. Cost: linear in the
// names, of which there are at most `most`, none longer than 255 bytes (POSIX). Errors:
// HostListError.
[[nodiscard]] std::vector<std::string> expand_host_list(std::string_view list, std::size_t most);

}  // namespace lockstep::topology
