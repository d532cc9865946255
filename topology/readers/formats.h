// The recordings that can be read, and how each is recognised by its content.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

struct Format {
  std::string_view name;  // as Machine::sources has it: "nccl-xml"
  // Whether `text` is of this format; may look at all of it, must be linear in it.
  bool (*recognises)(std::string_view text);
  Reading (*read)(const Recording& recording);
};

// In the order in which they are tried.
[[nodiscard]] std::span<const Format> formats();

// Reads a recording in whichever format it is. Errors: ReadError, which names the formats where
// none fits, or the reason for which a known one is refused.
[[nodiscard]] Reading read_recording(const Recording& recording);

}  // namespace lockstep::topology
