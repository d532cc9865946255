#include "runtime/data/random.h"

namespace lockstep::runtime::data {
namespace {

// Multipliers and key increments of Philox4x32, from the paper's table 2 and section 3.3.
constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr std::uint64_t kEpochBits = 28;

std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}
std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

}  // namespace

PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1),
               high(product0) ^ counter[3] ^ key[1], low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t epoch,
                           std::uint64_t index)
    : key_{low(seed), high(seed)},
      counter_{0, low(index), high(index),
               low(epoch | static_cast<std::uint64_t>(purpose) << kEpochBits)} {}

std::uint32_t RandomStream::bits() {
  if (used_ == block_.size()) {
    block_ = philox4x32_10(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

// Lemire: Fast random integer generation in an interval (2019).
std::uint32_t RandomStream::below(std::uint32_t bound) {
  std::uint64_t product = std::uint64_t{bits()} * bound;
  if (low(product) < bound) {
    const std::uint32_t threshold = (0U - bound) % bound;
    while (low(product) < threshold) product = std::uint64_t{bits()} * bound;
  }
  return high(product);
}

double RandomStream::unit() {
  return bits() * 0x1p-32;
}

}  // namespace lockstep::runtime::data
