#include "runtime/metrics/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/checkpoint/file_system.h"

namespace lockstep::runtime::metrics {

using checkpoint::FileSystemError;

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor_ < 0) throw FileSystemError("open", path_, errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int code = errno;
    ::close(descriptor_);
    throw FileSystemError("stat", path_, code);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

void AppendFile::append(std::span<const std::byte> record) {
  std::uint64_t written = 0;
  while (written < record.size()) {
    const ssize_t got = ::write(descriptor_, record.data() + written, record.size() - written);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int code = errno;
      // A record that is cut short would hide all that follow it.
      if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) {
        throw FileSystemError("ftruncate", path_, errno);
      }
      throw FileSystemError("write", path_, code);
    }
    written += static_cast<std::uint64_t>(got);
  }
  size_ += written;
}

}  // namespace lockstep::runtime::metrics
