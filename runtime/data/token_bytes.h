// Numbers of 1, 2 or 4 bytes, least byte first, as 32-bit tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::runtime::data {

// REQUIRES: bytes.size() == width * tokens.size(), width is 1, 2 or 4. `bytes` may be the last of
// those that `tokens` takes, so that a file can be read into the place where its tokens go.
void widen(std::span<const std::byte> bytes, std::size_t width, std::span<std::int32_t> tokens);

// REQUIRES: value < 2^(8 * bytes.size()).
void narrow(std::uint32_t value, std::span<std::byte> bytes);

}  // namespace lockstep::runtime::data
