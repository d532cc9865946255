#include "runtime/data/file_bytes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>

#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

// RFC 1952: every member begins with these two bytes.
constexpr std::uint8_t kGzipMagic[] = {0x1f, 0x8b};
// Deflate cannot pack tighter than this (zlib's technical notes: 1032 to 1).
constexpr std::size_t kMostPacked = 1032;
// zlib: the largest window, and a gzip header is expected.
constexpr int kGzipWindow = 15 + 16;

std::vector<std::uint8_t> read_whole(const std::filesystem::path& path) {
  const std::uint64_t size = size_of_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DataError(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  std::vector<std::uint8_t> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (file.gcount() != static_cast<std::streamsize>(size)) {
    throw DataError(fmt::format("{}: byte {}: expected {} bytes, but reading ended here",
                                path.string(), file.gcount(), size));
  }
  return bytes;
}

bool begins_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= std::size(kGzipMagic) &&
         std::equal(std::begin(kGzipMagic), std::end(kGzipMagic), bytes.begin());
}

uInt chunk(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

}  // namespace

std::uint64_t size_of_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw DataError(fmt::format("{}: no such file", path.string()));
  }
  if (error) throw DataError(fmt::format("{}: {}", path.string(), error.message()));
  if (!std::filesystem::is_regular_file(status)) {
    throw DataError(fmt::format("{}: expected a file, found {}", path.string(),
                                std::filesystem::is_directory(status) ? "a folder" : "a device"));
  }
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw DataError(fmt::format("{}: {}", path.string(), error.message()));
  if (size == 0) throw DataError(fmt::format("{}: the file is empty", path.string()));
  return size;
}

class FileBytes::Inflater {
 public:
  Inflater(const std::filesystem::path& path, std::span<const std::uint8_t> raw)
      : path_(path), raw_(raw) {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) {
      throw DataError(fmt::format("{}: inflateInit2 failed", path.string()));
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !ended_) filled += step(out.subspan(filled));
    return filled;
  }

 private:
  std::size_t step(std::span<std::uint8_t> out) {
    // zlib's interface is not const-correct; it only reads next_in.
    stream_.next_in = const_cast<Bytef*>(raw_.data() + used_);
    stream_.avail_in = chunk(raw_.size() - used_);
    stream_.next_out = out.data();
    stream_.avail_out = chunk(out.size());
    const uInt offered_in = stream_.avail_in;
    const uInt offered_out = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    used_ += offered_in - stream_.avail_in;
    if (status == Z_STREAM_END) {
      next_member();
    } else if (status == Z_BUF_ERROR) {
      throw DataError(fmt::format("{}: byte {}: expected more gzip data, but the file ends here",
                                  path_.string(), used_));
    } else if (status != Z_OK) {
      throw DataError(fmt::format("{}: byte {}: damaged gzip data (inflate: {})", path_.string(),
                                  used_, stream_.msg ? stream_.msg : zError(status)));
    }
    return offered_out - stream_.avail_out;
  }

  // gzip files may be joined; anything else behind a member is damage.
  void next_member() {
    if (used_ == raw_.size()) {
      ended_ = true;
      return;
    }
    if (!begins_gzip(raw_.subspan(used_))) {
      throw DataError(fmt::format("{}: byte {}: expected the end of the file, found {} bytes more",
                                  path_.string(), used_, raw_.size() - used_));
    }
    inflateReset(&stream_);
  }

  std::filesystem::path path_;
  std::span<const std::uint8_t> raw_;
  std::size_t used_ = 0;
  bool ended_ = false;
  z_stream stream_{};
};

FileBytes::FileBytes(const std::filesystem::path& path) : path_(path), raw_(read_whole(path)) {
  if (begins_gzip(raw_)) inflater_ = std::make_unique<Inflater>(path_, raw_);
}

FileBytes::~FileBytes() = default;

std::size_t FileBytes::read(std::span<std::uint8_t> out) {
  std::size_t filled = 0;
  if (inflater_) {
    filled = inflater_->read(out);
  } else {
    filled = std::min(out.size(), raw_.size() - offset_);
    std::copy_n(raw_.begin() + static_cast<std::ptrdiff_t>(offset_), filled, out.begin());
  }
  offset_ += filled;
  return filled;
}

std::vector<std::uint8_t> FileBytes::read_rest() {
  constexpr std::size_t kUnpackedChunk = std::size_t{1} << 20;
  std::vector<std::uint8_t> bytes;
  for (std::size_t filled = 0;;) {
    bytes.resize(filled + (inflater_ ? kUnpackedChunk : raw_.size() - offset_));
    const std::size_t more = read(std::span(bytes).subspan(filled));
    filled += more;
    if (filled == bytes.size() && inflater_) continue;
    bytes.resize(filled);
    return bytes;
  }
}

std::size_t FileBytes::size_limit() const {
  return inflater_ ? raw_.size() * kMostPacked : raw_.size();
}

std::string FileBytes::place(std::size_t offset) const {
  return fmt::format("{}: byte {}{}", path_.string(), offset,
                     inflater_ ? " of the unpacked data" : "");
}

}  // namespace lockstep::runtime::data
