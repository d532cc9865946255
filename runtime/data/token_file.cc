// Files of tokens: llm.c's and nanoGPT's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/data/random_file.h"
#include "runtime/data/source.h"
#include "runtime/data/token_bytes.h"
#include "runtime/data/token_sequence.h"

namespace lockstep::runtime::data {
namespace {

// llm.c's header: 256 numbers of 4 bytes (dev/data/data_common.py).
constexpr std::size_t kHeaderNumbers = 256;
constexpr std::size_t kHeaderBytes = 4 * kHeaderNumbers;
constexpr std::uint64_t kCountByte = 8;
constexpr std::int32_t kEvaluationMagic = 20240522;

struct Encoding {
  std::int32_t magic;
  std::int32_t version;
  std::size_t width;    // bytes of a token
  std::int64_t values;  // of the tokenizer
  std::string_view name;
};
constexpr std::array kEncodings{Encoding{20240520, 1, 2, 50257, "GPT-2"},
                                Encoding{20240801, 7, 4, 128256, "Llama 3"}};

// Where a file's tokens lie.
struct Layout {
  std::uint64_t begin = 0;  // byte of the first
  std::size_t width = 2;
  std::int64_t size = 0;
  std::int64_t values = 1;  // that the encoding has; 1: not known
};

std::int32_t first_number(const RandomFile& file) {
  std::array<std::int32_t, 1> number{};
  if (file.size() < sizeof number) return 0;
  std::array<std::byte, sizeof number> bytes{};
  file.read(0, bytes);
  widen(bytes, bytes.size(), number);
  return number[0];
}

Layout with_header(const RandomFile& file, const Encoding& encoding) {
  const std::string path = file.path().string();
  if (file.size() < kHeaderBytes) {
    throw DataError(
        fmt::format("{}: the file is cut off: expected {} bytes of llm.c's header, found {}", path,
                    kHeaderBytes, file.size()));
  }
  std::array<std::byte, kHeaderBytes> bytes{};
  file.read(0, bytes);
  std::array<std::int32_t, kHeaderNumbers> header{};
  widen(bytes, 4, header);
  if (header[1] != encoding.version) {
    throw DataError(
        fmt::format("{}: byte 4: expected version {} of llm.c's tokens for {}, found {}", path,
                    encoding.version, encoding.name, header[1]));
  }
  const std::int64_t count = header[2];
  const std::int64_t room = static_cast<std::int64_t>(file.size() - kHeaderBytes);
  if (count < 1 || count * static_cast<std::int64_t>(encoding.width) != room) {
    throw DataError(fmt::format(
        "{}: byte {}: the header counts {} tokens of {} bytes, but {} bytes follow it: the file "
        "was cut off or written with a wrong header",
        path, kCountByte, count, encoding.width, room));
  }
  return {kHeaderBytes, encoding.width, count, encoding.values};
}

Layout layout_of(const RandomFile& file) {
  const std::int32_t magic = first_number(file);
  for (const Encoding& encoding : kEncodings) {
    if (magic == encoding.magic) return with_header(file, encoding);
  }
  if (magic == kEvaluationMagic) {
    throw DataError(
        fmt::format("{}: byte 0: expected tokens to train on, found llm.c's questions with several "
                    "answers (magic {})",
                    file.path().string(), magic));
  }
  if (file.size() % 2 != 0) {
    throw DataError(
        fmt::format("{}: expected tokens of 2 bytes (llm.c's header is not there), found an odd "
                    "number of bytes, {}: the file was cut off or holds no tokens",
                    file.path().string(), file.size()));
  }
  return {0, 2, static_cast<std::int64_t>(file.size() / 2), 1};
}

class TokenFile final : public TokenSequence {
 public:
  explicit TokenFile(const std::filesystem::path& path)
      : file_(path), layout_(layout_of(file_)), values_(std::max(layout_.values, largest() + 1)) {}

  std::int64_t size() const override { return layout_.size; }
  std::int64_t values() const override { return values_; }
  std::string origin() const override { return file_.path().string(); }

  void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
    const std::span<std::byte> place = std::as_writable_bytes(tokens);
    const std::span<std::byte> bytes = place.last(tokens.size() * layout_.width);
    file_.read(layout_.begin + static_cast<std::uint64_t>(first) * layout_.width, bytes);
    widen(bytes, layout_.width, tokens);
  }

 private:
  std::int64_t largest() const {
    constexpr std::int64_t kChunk = 65536;
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(std::min(kChunk, layout_.size)));
    std::int64_t most = 0;
    for (std::int64_t first = 0; first < layout_.size; first += kChunk) {
      const auto part =
          std::span(tokens).first(static_cast<std::size_t>(std::min(kChunk, layout_.size - first)));
      read(first, part);
      std::uint32_t of_part = 0;
      for (const std::int32_t token : part) {
        of_part = std::max(of_part, static_cast<std::uint32_t>(token));
      }
      most = std::max<std::int64_t>(most, of_part);
    }
    // As 32 bits with a sign it would be negative, or its number of values would not fit.
    if (most >= std::numeric_limits<std::int32_t>::max()) {
      throw DataError(fmt::format("{}: expected tokens below 2^31-1, found {}: the file is damaged",
                                  file_.path().string(), most));
    }
    return most;
  }

  RandomFile file_;
  Layout layout_;
  std::int64_t values_;
};

}  // namespace

std::unique_ptr<TokenSequence> open_token_file(const std::filesystem::path& path) {
  return std::make_unique<TokenFile>(path);
}

}  // namespace lockstep::runtime::data
