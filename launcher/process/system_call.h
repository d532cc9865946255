// The one place where a failed system call becomes an exception that keeps the call's name.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {

// Returns `result` of the call `name`; throws std::system_error with errno where it is negative.
template <typename Result>
Result checked(Result result, const std::string& name) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), name);
  return result;
}

struct Pipe {
  UniqueFd read, write;
};

// Both ends are closed on exec and above 2.
// REQUIRES: descriptors 0 to 2 are open.
[[nodiscard]] Pipe make_pipe();

void set_nonblocking(int fd);

// Opens /dev/null on those of the descriptors 0 to 2 that are closed, so that no pipe lands there.
void open_standard_descriptors();

}  // namespace lockstep::launcher
