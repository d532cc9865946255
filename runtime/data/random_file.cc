#include "runtime/data/random_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/data/file_bytes.h"
#include "runtime/data/source.h"

namespace lockstep::runtime::data {

RandomFile::RandomFile(const std::filesystem::path& path)
    : path_(path),
      size_(size_of_file(path)),
      descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw DataError(fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

RandomFile::~RandomFile() {
  close(descriptor_);
}

void RandomFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      throw DataError(fmt::format("{}: byte {}: {}", path_.string(), offset, std::strerror(errno)));
    }
    if (done == 0) {
      throw DataError(
          fmt::format("{}: byte {}: the file ends here; it had {} bytes when it was "
                      "opened: do not change data while it is in use",
                      path_.string(), offset, size_));
    }
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

}  // namespace lockstep::runtime::data
