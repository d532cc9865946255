// UTF-8, as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace lockstep::runtime::data {

inline constexpr std::uint32_t kCodePoints = 0x110000;  // all are below

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // in bytes
};

// The code point that `text` begins with; none where it is not UTF-8. REQUIRES: text is not empty.
[[nodiscard]] std::optional<CodePoint> decode_utf8(std::span<const std::uint8_t> text);

// REQUIRES: a code point that decode_utf8 can give.
[[nodiscard]] std::string encode_utf8(std::uint32_t code_point);

}  // namespace lockstep::runtime::data
