// Everything that is done with a recording, for inputs that nobody wrote.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology::test {

// What can be read: each of formats(), and the texts that are not of a machine ("nccl-tests",
// "tuner-table"), and host_pipelines().
[[nodiscard]] std::vector<std::string_view> pipelines();

enum class Outcome { refused, read };
enum class Depth { reading, everything };

// Reads `text` as `pipeline`, whatever it looks like. With `everything` it does with the reading
// what the program does: paths, findings, advice, merging, drawings, and every writer, which takes
// ten to a hundred times as long. REQUIRES: one of pipelines(). Errors: std::logic_error where a
// promise is broken (a JSON that does not read back as the same cluster); any other exception is a
// fault of what was called.
Outcome run_pipeline(std::string_view pipeline, std::string text, Depth depth);

}  // namespace lockstep::topology::test
