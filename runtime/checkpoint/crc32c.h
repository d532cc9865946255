// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), as iSCSI, TFRecord and TensorBoard use it.
//
// Published check value (RFC 3720, B.4 and the CRC catalogue): crc32c("123456789") = 0xE3069283.
// Cost: about 3 cycles for 8 bytes with SSE 4.2, asked for at run time; about 10 without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::runtime::checkpoint {

// The checksum of some bytes, or of all that came earlier and these: `before` is the earlier ones'
// checksum.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

// The same by tables alone, whatever the processor has; tests hold the two against each other.
[[nodiscard]] std::uint32_t crc32c_by_table(std::span<const std::byte> bytes,
                                            std::uint32_t before = 0);

// TFRecord stores checksums masked, since a checksum of data that holds checksums is weak:
// ((crc >> 15) | (crc << 17)) + 0xa282ead8.
[[nodiscard]] constexpr std::uint32_t masked_crc32c(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace lockstep::runtime::checkpoint
