#include "runtime/data/utf8.h"

namespace lockstep::runtime::data {
namespace {

constexpr std::uint32_t kPayloadBits = 6;  // of every byte but the first
constexpr std::uint32_t kPayload = 0x3F;

// A form of RFC 3629, section 3: how the first byte looks, and the least code point that needs it.
struct Form {
  std::uint32_t mark;
  std::uint32_t mark_mask;
  std::size_t length;
  std::uint32_t least;
};
constexpr Form kForms[] = {
    {0x00, 0x80, 1, 0}, {0xC0, 0xE0, 2, 0x80}, {0xE0, 0xF0, 3, 0x800}, {0xF0, 0xF8, 4, 0x10000}};

bool is_surrogate(std::uint32_t value) {
  return value >= 0xD800 && value <= 0xDFFF;
}

}  // namespace

std::optional<CodePoint> decode_utf8(std::span<const std::uint8_t> text) {
  for (const Form& form : kForms) {
    if ((text[0] & form.mark_mask) != form.mark) continue;
    if (text.size() < form.length) return std::nullopt;
    std::uint32_t value = text[0] & ~form.mark_mask & 0xFFU;
    for (const std::uint8_t byte : text.subspan(1, form.length - 1)) {
      if ((byte & ~kPayload) != 0x80) return std::nullopt;
      value = value << kPayloadBits | (byte & kPayload);
    }
    if (value < form.least || value >= kCodePoints || is_surrogate(value)) return std::nullopt;
    return CodePoint{value, form.length};
  }
  return std::nullopt;
}

std::string encode_utf8(std::uint32_t code_point) {
  std::size_t form = 0;
  while (form + 1 < std::size(kForms) && code_point >= kForms[form + 1].least) ++form;
  std::string text(kForms[form].length, '\0');
  for (std::size_t i = text.size() - 1; i > 0; --i) {
    text[i] = static_cast<char>(0x80 | (code_point & kPayload));
    code_point >>= kPayloadBits;
  }
  text[0] = static_cast<char>(kForms[form].mark | code_point);
  return text;
}

}  // namespace lockstep::runtime::data
