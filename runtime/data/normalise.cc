// Bytes to floats, by channel.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/data/transform.h"

namespace lockstep::runtime::data {
namespace {

// Pixels whose scales and shifts lie one after another, so that the inner loop has no channel index
// and is vectorised for any number of channels.
constexpr std::size_t kBlockPixels = 16;

// One machine code for each width of vector registers; all give the same bits, none fusing the
// multiplication and addition.
#ifdef LOCKSTEP_SINGLE_TARGET
#define LOCKSTEP_VECTOR_CLONES
#else
#define LOCKSTEP_VECTOR_CLONES __attribute__((target_clones("default", "avx2")))
#endif

LOCKSTEP_VECTOR_CLONES void scale_bytes(const std::uint8_t* from, std::size_t count, float scale,
                                        float shift, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i] * scale + shift;
}

LOCKSTEP_VECTOR_CLONES void scale_block(const std::uint8_t* from, std::size_t count,
                                        const float* scale, const float* shift, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i] * scale[i] + shift[i];
}

double channel_of(const std::vector<double>& values, std::int64_t channel, double missing) {
  if (values.empty()) return missing;
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

void check_length(const std::vector<double>& values, const char* key, std::int64_t channels) {
  const std::size_t length = values.size();
  if (length <= 1 || length == static_cast<std::size_t>(channels)) return;
  throw DataError(
      fmt::format("normalise: {} has {} values for images of {} channels; expected 1 or {}", key,
                  length, channels, channels));
}

}  // namespace

Normalise::Normalise(const std::vector<double>& mean, const std::vector<double>& std,
                     std::int64_t channels) {
  check_length(mean, "mean", channels);
  check_length(std, "std", channels);
  for (std::size_t pixel = 0; pixel < kBlockPixels; ++pixel) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const double deviation = channel_of(std, channel, 1);
      scale_.push_back(static_cast<float>(1 / (255 * deviation)));
      shift_.push_back(static_cast<float>(-channel_of(mean, channel, 0) / deviation));
    }
  }
}

void Normalise::apply(std::span<const std::uint8_t> bytes, std::span<float> floats) const {
  const std::size_t block = scale_.size();
  if (block == kBlockPixels) {
    scale_bytes(bytes.data(), bytes.size(), scale_.front(), shift_.front(), floats.data());
    return;
  }
  for (std::size_t start = 0; start < bytes.size(); start += block) {
    const std::size_t count = std::min(block, bytes.size() - start);
    scale_block(bytes.data() + start, count, scale_.data(), shift_.data(), floats.data() + start);
  }
}

}  // namespace lockstep::runtime::data
