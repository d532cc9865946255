#include "runtime/data/token_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

constexpr std::int64_t kChunk = 65536;  // tokens

}  // namespace

void require_below(const TokenSequence& sequence, std::int64_t vocabulary) {
  if (sequence.values() <= vocabulary) return;
  std::vector<std::int32_t> tokens(
      static_cast<std::size_t>(std::min<std::int64_t>(kChunk, sequence.size())));
  for (std::int64_t first = 0; first < sequence.size(); first += kChunk) {
    const auto part = std::span(tokens).first(
        static_cast<std::size_t>(std::min<std::int64_t>(kChunk, sequence.size() - first)));
    sequence.read(first, part);
    const auto found = std::find_if(part.begin(), part.end(),
                                    [&](std::int32_t token) { return token >= vocabulary; });
    if (found == part.end()) continue;
    throw DataError(fmt::format(
        "token {} at position {} of {} is not below the model's vocabulary of {}: "
        "raise model.vocabulary to {} or use data of another encoding",
        *found, first + (found - part.begin()), sequence.origin(), vocabulary, sequence.values()));
  }
}

}  // namespace lockstep::runtime::data
