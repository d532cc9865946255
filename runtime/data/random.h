// Random numbers as a function of what they are for: no state that threads, ranks or a resume could
// change.
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011).
#pragma once

#include <array>
#include <cstdint>

#include "engine/device/visibility.h"

namespace lockstep::runtime::data {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Cost: about 10 ns.
[[nodiscard]] LOCKSTEP_API PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key);

// What a number is drawn for; numbers of different purposes are independent.
enum class Purpose : std::uint8_t {
  order = 0,
  augmentation = 1,
  synthetic_pattern = 2,
  synthetic_sample = 3,
  window_shift = 4
};

// The numbers of one (seed, purpose, epoch, index). Draw n of a stream is always the same number.
class LOCKSTEP_API RandomStream {
 public:
  // REQUIRES: epoch < 2^28.
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t epoch, std::uint64_t index);

  // The next 32 random bits.
  [[nodiscard]] std::uint32_t bits();
  // In [0, bound), every value equally likely. REQUIRES: bound >= 1.
  [[nodiscard]] std::uint32_t below(std::uint32_t bound);
  // In [0, 1), a multiple of 2^-32.
  [[nodiscard]] double unit();

 private:
  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxCounter block_{};
  std::uint32_t used_ = 4;  // of block_
};

}  // namespace lockstep::runtime::data
