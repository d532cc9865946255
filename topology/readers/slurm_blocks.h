// The blocks of Slurm's block plugin, checked.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/fabric.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {

struct SlurmBlock {
  std::string name;
  int line = 0;
  std::vector<std::string> hosts;
};

// "4,8,16". Errors: ReadError, for what is no list of numbers from 1 to a million.
[[nodiscard]] std::vector<int> parse_block_sizes(std::string_view text, std::string_view file,
                                                 int line);

// Slurm's rules: each size is the first one times a power of two, and larger than the one before;
// no block has fewer hosts than the first size; no host is in two blocks. `sizes_line` is where
// the sizes stand, 0 where they do not.
void check_blocks(const std::vector<SlurmBlock>& blocks, const std::vector<int>& sizes,
                  int sizes_line, Notes& notes);

}  // namespace lockstep::topology
