// Windows of a sequence of tokens: inputs [s, s+T), labels [s+1, s+T+1).
//
// Evaluation: windows lie side by side, s = i*T, and the last is padded, so that every token of the
// range but its first is a label exactly once. Training: s = shift + i*T, where the shift is drawn
// in [0, T) from (seed, epoch), so that an epoch's windows begin elsewhere than the last one's;
// every window is full, and their number is the same in every epoch.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/device/visibility.h"
#include "runtime/data/source.h"
#include "runtime/data/token_sequence.h"

namespace lockstep::runtime::data {

struct WindowOptions {
  std::int64_t context = 0;  // T
  // The part of the sequence that is used, as fractions of its tokens, rounded down: a range that
  // ends where another begins shares no token with it.
  double from = 0;
  double to = 1;
  Split split = Split::train;
  std::uint64_t seed = 1;
};

// Throws DataError where the range has too few tokens for one window: 2T in training, 2 in
// evaluation.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Source> make_windows(
    std::unique_ptr<TokenSequence> sequence, const WindowOptions& options);

}  // namespace lockstep::runtime::data
