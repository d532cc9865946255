#include "runtime/checkpoint/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace lockstep::runtime::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "words are taken as they lie in memory");

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// Slicing by eight: table k holds what a byte contributes from k bytes further on.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82F63B78u : 0u);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < tables.size(); ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[slice - 1][byte];
      tables[slice][byte] = (crc >> 8) ^ tables[0][crc & 0xffu];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(
    std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint64_t crc = ~before;
  while (bytes.size() >= 8) {
    crc = _mm_crc32_u64(crc, word_at(bytes.data()));
    bytes = bytes.subspan(8);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (const std::byte byte : bytes) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(byte));
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  while (bytes.size() >= 8) {
    const std::uint64_t word = word_at(bytes.data()) ^ crc;
    crc = 0;
    for (std::size_t at = 0; at < 8; ++at) crc ^= kTables[7 - at][(word >> (8 * at)) & 0xffu];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffu];
  }
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace lockstep::runtime::checkpoint
