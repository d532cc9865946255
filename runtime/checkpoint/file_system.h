// The few file operations that a checkpoint is made of, so that each of them can be made to fail in
// a test.
//
// Every call either does what it says or throws a FileSystemError that names the call, the path and
// the system's reason. Nothing is durable before it is synchronised: a file's bytes by
// WritableFile::sync(), a name (created, renamed, removed) by sync_directory() of the folder that
// holds it.
//
// Thread rule: a FileSystem may be used by several threads; an open file by one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/visibility.h"

namespace lockstep::runtime::checkpoint {

class LOCKSTEP_API FileSystemError : public std::runtime_error {
 public:
  // `call` is what was attempted, as "write" or "fsync"; `code` an errno value.
  FileSystemError(std::string_view call, const std::filesystem::path& path, int code);

  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

// A file being written, from its first byte to its last; closed by the destructor.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  // Appends all of `bytes`, or throws; what a failed call has left in the file is not defined.
  virtual void write(std::span<const std::byte> bytes) = 0;

  // Returns when every byte written so far is on the device.
  virtual void sync() = 0;
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;

  // Fills `bytes` from where the last call ended and returns how many came: fewer only at the
  // file's end.
  [[nodiscard]] virtual std::size_t read(std::span<std::byte> bytes) = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Makes one folder (mode 0700); one that is there already is no error. REQUIRES: its parent is
  // there.
  virtual void create_directory(const std::filesystem::path& path) = 0;

  // Makes an empty file (mode 0600). A file of that name is an error (EEXIST).
  [[nodiscard]] virtual std::unique_ptr<WritableFile> create_file(
      const std::filesystem::path& path) = 0;

  virtual void sync_directory(const std::filesystem::path& path) = 0;

  // In one step, within one folder: `to` is replaced if it is a file or an empty folder, else
  // ENOTEMPTY.
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;

  // Removes a file or an empty folder.
  virtual void remove(const std::filesystem::path& path) = 0;

  // Names in a folder, sorted, without "." and "..". A folder that is not there: ENOENT.
  [[nodiscard]] virtual std::vector<std::string> list(const std::filesystem::path& path) = 0;

  [[nodiscard]] virtual std::unique_ptr<ReadableFile> open_file(
      const std::filesystem::path& path) = 0;
};

// The machine's own files.
class PosixFileSystem final : public FileSystem {
 public:
  void create_directory(const std::filesystem::path& path) override;
  [[nodiscard]] std::unique_ptr<WritableFile> create_file(
      const std::filesystem::path& path) override;
  void sync_directory(const std::filesystem::path& path) override;
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  void remove(const std::filesystem::path& path) override;
  [[nodiscard]] std::vector<std::string> list(const std::filesystem::path& path) override;
  [[nodiscard]] std::unique_ptr<ReadableFile> open_file(const std::filesystem::path& path) override;
};

// The whole of a file. Memory: its size, once.
[[nodiscard]] std::vector<std::byte> read_file(FileSystem& files,
                                               const std::filesystem::path& path);

// Replaces a small file so that a reader, or a machine that stops, sees the old text or the new
// one: temporary name beside it, fsync, rename, fsync of the folder. On failure the temporary is
// removed and the old text stays.
void replace_file(FileSystem& files, const std::filesystem::path& path, std::string_view text);

// Eight hex digits that no other process has drawn, for temporary names.
[[nodiscard]] std::string random_suffix();

}  // namespace lockstep::runtime::checkpoint
