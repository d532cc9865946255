// The findings of one reader, bounded, however damaged the recording is.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "topology/finding.h"

namespace lockstep::topology {

class Notes {
 public:
  static constexpr std::size_t kMax = 64;

  explicit Notes(std::string_view file) : file_(file) {}

  // Adds `finding`, whose place is that line of the file (0: the whole file), unless it has one.
  void add(Finding finding, int line = 0);

  // What was added, in order: the first kMax, and one that says how many more there were.
  [[nodiscard]] std::vector<Finding> take();

 private:
  std::string file_;
  std::vector<Finding> findings_;
  std::size_t left_out_ = 0;
};

}  // namespace lockstep::topology
