#include <cmath>
#include <numbers>

#include "engine/fingerprint.h"
#include "engine/model.h"

namespace lockstep::engine {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014): a bijection whose outputs over a counter pass as random.
std::uint64_t mix(std::uint64_t counter) {
  counter += 0x9e3779b97f4a7c15u;
  counter = (counter ^ (counter >> 30)) * 0xbf58476d1ce4e5b9u;
  counter = (counter ^ (counter >> 27)) * 0x94d049bb133111ebu;
  return counter ^ (counter >> 31);
}

// Uniform in (0, 1).
double unit(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

void initialise(std::span<float> values, const Initializer& initializer, std::uint64_t seed,
                std::string_view name) {
  const std::uint64_t key = mix(seed) ^ fingerprint(name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double first = unit(mix(key + 2 * i));
    double value = initializer.value;
    if (initializer.kind == Initializer::Kind::uniform) {
      value *= 2 * first - 1;
    } else if (initializer.kind == Initializer::Kind::normal) {  // Box and Muller
      const double second = unit(mix(key + 2 * i + 1));
      value *= std::sqrt(-2 * std::log(first)) * std::cos(2 * std::numbers::pi * second);
    }
    values[i] = static_cast<float>(value);
  }
}

}  // namespace lockstep::engine
