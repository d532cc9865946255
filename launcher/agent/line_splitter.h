// Cuts what a worker writes into whole lines, so that lines of different ranks never mix.
//
// A line longer than kLongestLine is cut into pieces of that length, each ended like a line; a last
// line without an end is given one. Bytes are otherwise passed on as they are. Holds at
// most kLongestLine bytes. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::launcher {

inline constexpr std::size_t kLongestLine = std::size_t{64} << 10;

class LineSplitter {
 public:
  // The lines that `bytes` completes, each with its '\n'; often several, or none.
  [[nodiscard]] std::string add(std::string_view bytes);

  // What is left at the end of the stream.
  [[nodiscard]] std::string finish();

 private:
  std::string pending_;
};

}  // namespace lockstep::launcher
