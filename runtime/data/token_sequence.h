// Tokens one after another, as a text or a file of tokens holds them: what windows are cut out of.
//
// Thread rule: a TokenSequence does not change after it was made; all members may be called from
// any thread at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "engine/device/visibility.h"
#include "runtime/job.h"

namespace lockstep::runtime::data {

class LOCKSTEP_API TokenSequence {
 public:
  virtual ~TokenSequence() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  // Every token is below it, and it is at most 2^31-1: the vocabulary of the encoding where that is
  // known, else one more than the largest token.
  [[nodiscard]] virtual std::int64_t values() const = 0;
  // See Source::vocabulary().
  [[nodiscard]] virtual std::string vocabulary() const { return {}; }
  // The file, for messages.
  [[nodiscard]] virtual std::string origin() const = 0;

  // Writes tokens `first` to `first + tokens.size() - 1`. REQUIRES: they are below size(). Throws
  // DataError where the file has changed or cannot be read.
  virtual void read(std::int64_t first, std::span<std::int32_t> tokens) const = 0;
};

// A text file, plain or gzip (told by content), read to memory: 1 byte a token, or 2 or 4 where a
// text has more characters. `bytes`: a token is a byte, 256 values. `characters`: a token is a
// Unicode code point of a text in UTF-8, numbered by code point among those that the whole file
// has. Throws DataError, with the byte offset, where a text of characters is not UTF-8.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<TokenSequence> read_text(
    const std::filesystem::path& path, TextVocabulary vocabulary);

// A file of tokens, told by its first number:
//  - llm.c's (dev/data/data_common.py): 256 int32, of which [0] is 20240520, [1] is 1 and [2] the
//    number of tokens, then uint16 of GPT-2's encoding; or [0] 20240801, [1] 7, then uint32 of
//    Llama 3's; little-endian;
//  - otherwise nanoGPT's: uint16, little-endian, nothing else.
// The file is read through once, to find the largest token (3 ns a token where the file is in the
// page cache), and kept open; later reads take what they need out of it. Throws DataError.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<TokenSequence> open_token_file(
    const std::filesystem::path& path);

// Throws DataError, with its place and value, at the first token that is not below `vocabulary`.
// Cost: none where values() is not above it, else the sequence is read.
LOCKSTEP_API void require_below(const TokenSequence& sequence, std::int64_t vocabulary);

}  // namespace lockstep::runtime::data
