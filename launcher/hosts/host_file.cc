#include "launcher/hosts/host_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "launcher/hosts/allocation.h"
#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string_view message) {
  throw AllocationError(fmt::format("{}: {}", name, message));
}

[[noreturn]] void refuse_errno(const std::string& name, std::string_view what) {
  refuse(name, fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

std::string read_host_file(const std::string& path, const std::string& name) {
  // O_NONBLOCK: the open of a FIFO without a writer would wait for one.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) refuse_errno(name, "cannot be opened");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse_errno(name, "cannot be looked at");
  if (!S_ISREG(status.st_mode))
    refuse(name,
           fmt::format("expected a file that names hosts, found {}", kind_of(status.st_mode)));

  std::string text;
  while (true) {
    constexpr std::size_t kStep = std::size_t{1} << 16;
    const std::size_t at = text.size();
    text.resize(at + kStep);
    const ssize_t got = ::read(file.get(), text.data() + at, kStep);
    if (got < 0 && errno != EINTR) refuse_errno(name, "cannot be read");
    text.resize(at + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (text.size() > kLargestHostFile)
      refuse(name, "larger than 16 MiB, which no list of hosts is");
  }
}

}  // namespace lockstep::launcher
