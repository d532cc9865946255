#include "runtime/checkpoint/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>
#include <system_error>

namespace lockstep::runtime::checkpoint {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { ::close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

int open_or_throw(const std::filesystem::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (descriptor < 0) throw FileSystemError("open", path, errno);
  return descriptor;
}

class PosixWritableFile final : public WritableFile {
 public:
  explicit PosixWritableFile(const std::filesystem::path& path)
      : path_(path), descriptor_(open_or_throw(path, O_WRONLY | O_CREAT | O_EXCL)) {}

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_.value(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw FileSystemError("write", path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void sync() override {
    if (::fsync(descriptor_.value()) != 0) throw FileSystemError("fsync", path_, errno);
  }

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
};

class PosixReadableFile final : public ReadableFile {
 public:
  explicit PosixReadableFile(const std::filesystem::path& path)
      : path_(path), descriptor_(open_or_throw(path, O_RDONLY)) {
    struct stat status {};
    if (::fstat(descriptor_.value(), &status) != 0) throw FileSystemError("stat", path_, errno);
    if (S_ISDIR(status.st_mode)) throw FileSystemError("read", path_, EISDIR);
    size_ = static_cast<std::uint64_t>(status.st_size);
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override {
    std::size_t total = 0;
    while (total < bytes.size()) {
      const ssize_t got = ::read(descriptor_.value(), bytes.data() + total, bytes.size() - total);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw FileSystemError("read", path_, errno);
      if (got == 0) break;
      total += static_cast<std::size_t>(got);
    }
    return total;
  }

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace

FileSystemError::FileSystemError(std::string_view call, const std::filesystem::path& path, int code)
    : std::runtime_error(fmt::format("{} of {} failed: {}", call, path.string(),
                                     std::generic_category().message(code))),
      code_(code) {}

void PosixFileSystem::create_directory(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return;
  const int code = errno;
  if (code == EEXIST && std::filesystem::is_directory(path)) return;
  throw FileSystemError("mkdir", path, code);
}

std::unique_ptr<WritableFile> PosixFileSystem::create_file(const std::filesystem::path& path) {
  return std::make_unique<PosixWritableFile>(path);
}

void PosixFileSystem::sync_directory(const std::filesystem::path& path) {
  const Descriptor directory(open_or_throw(path, O_RDONLY | O_DIRECTORY));
  if (::fsync(directory.value()) == 0) return;
  // Some network file systems have no fsync of a folder: there a rename is durable when it returns,
  // or never.
  if (errno != EINVAL && errno != ENOTSUP) throw FileSystemError("fsync", path, errno);
}

void PosixFileSystem::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw FileSystemError("rename", from, errno);
}

void PosixFileSystem::remove(const std::filesystem::path& path) {
  if (::remove(path.c_str()) != 0) throw FileSystemError("remove", path, errno);
}

std::vector<std::string> PosixFileSystem::list(const std::filesystem::path& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) throw FileSystemError("list", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<ReadableFile> PosixFileSystem::open_file(const std::filesystem::path& path) {
  return std::make_unique<PosixReadableFile>(path);
}

std::vector<std::byte> read_file(FileSystem& files, const std::filesystem::path& path) {
  const auto file = files.open_file(path);
  std::vector<std::byte> bytes(file->size());
  bytes.resize(file->read(bytes));
  return bytes;
}

void replace_file(FileSystem& files, const std::filesystem::path& path, std::string_view text) {
  const auto temporary =
      path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), random_suffix());
  try {
    const auto file = files.create_file(temporary);
    file->write(std::as_bytes(std::span(text)));
    file->sync();
    files.rename(temporary, path);
  } catch (const FileSystemError&) {
    try {
      files.remove(temporary);
    } catch (const FileSystemError&) {
      // The first error is the one to tell.
    }
    throw;
  }
  files.sync_directory(path.parent_path());
}

std::string random_suffix() {
  return fmt::format("{:08x}", std::random_device{}() & 0xffffffffu);
}

}  // namespace lockstep::runtime::checkpoint
