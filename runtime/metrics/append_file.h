// A file that grows by whole records: one that could not be written in full is taken back, so that
// the file can still be read, and written to again when there is space.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace lockstep::runtime::metrics {

class AppendFile {
 public:
  // Opens the file, or makes it (mode 0600). Throws checkpoint::FileSystemError.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&&) = delete;
  AppendFile(const AppendFile&) = delete;

  // Hands the record to the system at once: another process sees it when the call returns.
  // Throws checkpoint::FileSystemError; the file is then as it was.
  void append(std::span<const std::byte> record);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace lockstep::runtime::metrics
