// A text as a sequence of tokens: its characters or its bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/file_bytes.h"
#include "runtime/data/source.h"
#include "runtime/data/token_bytes.h"
#include "runtime/data/token_sequence.h"
#include "runtime/data/utf8.h"

namespace lockstep::runtime::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Calls `take` with each code point of the text.
template <typename Take>
void for_each_character(const Bytes& text, const FileBytes& file, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(std::span(text).subspan(at));
    if (!character) {
      throw DataError(
          fmt::format("{}: expected a character in UTF-8, found byte {:02x}, which does not begin "
                      "one: convert the text to UTF-8, or set \"vocabulary\": \"bytes\"",
                      file.place(at), text[at]));
    }
    take(character->value);
    at += character->length;
  }
}

class Text final : public TokenSequence {
 public:
  Text(std::string origin, Bytes bytes)
      : origin_(std::move(origin)), tokens_(std::move(bytes)), values_(256) {}

  Text(std::string origin, const Bytes& text, const FileBytes& file) : origin_(std::move(origin)) {
    std::vector<std::uint32_t> token_of(kCodePoints);  // first: whether the text has it
    std::size_t size = 0;
    for_each_character(text, file, [&](std::uint32_t character) {
      token_of[character] = 1;
      ++size;
    });
    for (std::uint32_t character = 0; character < kCodePoints; ++character) {
      if (token_of[character] == 0) continue;
      token_of[character] = static_cast<std::uint32_t>(characters_.size());
      characters_.push_back(character);
    }
    values_ = static_cast<std::int64_t>(characters_.size());
    width_ = values_ <= 1 << 8 ? 1 : values_ <= 1 << 16 ? 2 : 4;
    tokens_.resize(size * width_);
    auto to = std::as_writable_bytes(std::span(tokens_));
    for_each_character(text, file, [&](std::uint32_t character) {
      narrow(token_of[character], to.first(width_));
      to = to.subspan(width_);
    });
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(tokens_.size() / width_); }
  std::int64_t values() const override { return values_; }
  std::string origin() const override { return origin_; }

  std::string vocabulary() const override {
    if (characters_.empty()) return {};
    nlohmann::json list = nlohmann::json::array();
    for (const std::uint32_t character : characters_) list.push_back(encode_utf8(character));
    return list.dump();
  }

  void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
    const auto bytes = std::as_bytes(std::span(tokens_));
    widen(bytes.subspan(static_cast<std::size_t>(first) * width_, tokens.size() * width_), width_,
          tokens);
  }

 private:
  std::string origin_;
  Bytes tokens_;
  std::size_t width_ = 1;  // bytes of a token
  std::int64_t values_ = 0;
  std::vector<std::uint32_t> characters_;  // by token; empty: tokens are bytes
};

}  // namespace

std::unique_ptr<TokenSequence> read_text(const std::filesystem::path& path,
                                         TextVocabulary vocabulary) {
  FileBytes file(path);
  Bytes text = file.read_rest();
  if (vocabulary == TextVocabulary::bytes) {
    return std::make_unique<Text>(path.string(), std::move(text));
  }
  return std::make_unique<Text>(path.string(), text, file);
}

}  // namespace lockstep::runtime::data
