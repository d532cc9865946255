// A libFuzzer program for any reader: LOCKSTEP_FUZZ_READER names it. One program, since the readers
// share most of what is compiled; `tests/fuzz/run.sh` runs it for each of them.
//
//   LOCKSTEP_FUZZ_READER=nccl-xml reader_fuzzer FILE    does it again with what was kept of a crash
//   LOCKSTEP_FUZZ_READER=list reader_fuzzer             names the readers
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/pipeline.h"

namespace {

using lockstep::topology::test::Depth;
using lockstep::topology::test::pipelines;
using lockstep::topology::test::run_pipeline;

// Names the readers and ends the program where the environment names none of them.
std::string_view chosen_reader() {
  const char* const value = std::getenv("LOCKSTEP_FUZZ_READER");
  const std::string_view wanted = value == nullptr ? "" : value;
  const std::vector<std::string_view> names = pipelines();
  if (const auto found = std::ranges::find(names, wanted); found != names.end()) return *found;
  for (const std::string_view name : names)
    std::fprintf(stdout, "%.*s\n", static_cast<int>(name.size()), name.data());
  if (wanted == "list") std::exit(0);
  std::fprintf(stderr,
               "error: LOCKSTEP_FUZZ_READER must name one of the readers above, found '%s'\n",
               value == nullptr ? "" : value);
  std::exit(2);
}

std::string_view reader() {
  static const std::string_view name = chosen_reader();
  return name;
}

// One input in eight goes the whole way, so that readers see many. It follows from the input, which
// does the same each time.
Depth depth_for(std::string_view text) {
  return std::hash<std::string_view>{}(text) % 8 == 0 ? Depth::everything : Depth::reading;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerInitialize(int*, char***) {
  (void)reader();
  return 0;
}

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(
    const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)run_pipeline(reader(), std::string(text), depth_for(text));
  return 0;
}
