// A file that stays open and is read in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace lockstep::runtime::data {

// It is read, not mapped: a file that shrinks or a disk that fails is then an error with a name,
// not the signal that a mapping would raise. Thread rule: all members may be called from any thread
// at once.
class RandomFile {
 public:
  // Throws DataError where the file is missing, empty, not a plain file or cannot be opened.
  explicit RandomFile(const std::filesystem::path& path);
  ~RandomFile();
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // In bytes, when it was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Fills `bytes` from `offset` on. Throws DataError where the file ends before, or reading fails.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  std::filesystem::path path_;
  std::uint64_t size_;
  int descriptor_;
};

}  // namespace lockstep::runtime::data
