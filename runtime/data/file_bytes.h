// A file read once from front to back, unpacked on the way where its content is gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime::data {

// Bytes of a plain file that holds something. Throws DataError where it is missing, empty or not a
// plain file.
[[nodiscard]] std::uint64_t size_of_file(const std::filesystem::path& path);

// Thread rule: one thread an object.
class FileBytes {
 public:
  // Throws DataError where the file is missing, empty, not a plain file or cannot be read.
  explicit FileBytes(const std::filesystem::path& path);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  // Fills `out` with the next bytes; returns how many, less than asked only at the end. Throws
  // DataError where the gzip data is damaged or cut off.
  [[nodiscard]] std::size_t read(std::span<std::uint8_t> out);

  // Bytes handed out so far.
  [[nodiscard]] std::size_t offset() const { return offset_; }
  // What read() can hand out in all: exact for a plain file, the most that gzip can pack for a
  // packed one.
  [[nodiscard]] std::size_t size_limit() const;
  // All the bytes that are left.
  [[nodiscard]] std::vector<std::uint8_t> read_rest();
  // "FILE: byte 16", or "FILE: byte 16 of the unpacked data".
  [[nodiscard]] std::string place(std::size_t offset) const;

 private:
  class Inflater;
  std::filesystem::path path_;
  std::vector<std::uint8_t> raw_;
  std::size_t offset_ = 0;
  std::unique_ptr<Inflater> inflater_;  // none: a plain file
};

}  // namespace lockstep::runtime::data
