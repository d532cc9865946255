#include "runtime/data/sampler.h"

#include <numeric>
#include <utility>

#include "runtime/data/random.h"

namespace lockstep::runtime::data {

// Fisher and Yates, from one stream: draw n belongs to the n-th exchange.
std::vector<std::uint32_t> shuffled_order(std::size_t size, std::uint64_t seed,
                                          std::uint64_t epoch) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  RandomStream random(seed, Purpose::order, epoch, 0);
  for (std::size_t left = size; left > 1; --left) {
    const std::uint32_t chosen = random.below(static_cast<std::uint32_t>(left));
    std::swap(order[left - 1], order[chosen]);
  }
  return order;
}

}  // namespace lockstep::runtime::data
