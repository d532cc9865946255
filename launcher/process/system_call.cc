#include "launcher/process/system_call.h"

#include <fcntl.h>

namespace lockstep::launcher {

Pipe make_pipe() {
  int ends[2];
  checked(::pipe2(ends, O_CLOEXEC), "pipe2");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void set_nonblocking(int fd) {
  const int flags = checked(::fcntl(fd, F_GETFL), "fcntl(F_GETFL)");
  checked(::fcntl(fd, F_SETFL, flags | O_NONBLOCK), "fcntl(F_SETFL)");
}

void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) checked(::open("/dev/null", O_RDWR), "open /dev/null");
  }
}

}  // namespace lockstep::launcher
