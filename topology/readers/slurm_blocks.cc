#include "topology/readers/slurm_blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "topology/readers/lines.h"
#include "topology/readers/reading.h"

namespace lockstep::topology {
namespace {

constexpr int kMaxSize = 1000000;

bool is_power_of_two_times(int size, int base) {
  return size % base == 0 && std::has_single_bit(static_cast<unsigned>(size / base));
}

}  // namespace

std::vector<int> parse_block_sizes(std::string_view text, std::string_view file, int line) {
  std::vector<int> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto size = parse_number<int>(text.substr(begin, end - begin));
    if (!size || *size < 1 || *size > kMaxSize) {
      throw ReadError(file, line,
                      fmt::format("BlockSizes: expected numbers of hosts such as 4,8,16, found "
                                  "\"{}\"",
                                  text.substr(0, 80)));
    }
    sizes.push_back(*size);
    begin = end + 1;
  }
  return sizes;
}

void check_blocks(const std::vector<SlurmBlock>& blocks, const std::vector<int>& sizes,
                  int sizes_line, Notes& notes) {
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] > sizes[i - 1] && is_power_of_two_times(sizes[i], sizes[0])) continue;
    notes.add({.severity = Severity::error,
               .code = "bad-block-size",
               .message = fmt::format("BlockSizes={}: {} is not a larger power of two times {}",
                                      fmt::join(sizes, ","), sizes[i], sizes[0]),
               .where = "",
               .remedy = fmt::format("write sizes such as {},{},{}; slurmctld refuses others",
                                     sizes[0], 2 * sizes[0], 4 * sizes[0])},
              sizes_line);
    break;
  }
  std::unordered_map<std::string_view, const SlurmBlock*> block_of;
  for (const SlurmBlock& block : blocks) {
    if (!sizes.empty() && block.hosts.size() < static_cast<std::size_t>(sizes[0])) {
      notes.add({.severity = Severity::warning,
                 .code = "short-block",
                 .message = fmt::format("block {} has {} hosts, fewer than the base size {}",
                                        block.name, block.hosts.size(), sizes[0]),
                 .where = "",
                 .remedy = "add hosts to it, or lower the first of BlockSizes"},
                block.line);
    }
    for (const std::string& host : block.hosts) {
      const auto [known, is_new] = block_of.emplace(host, &block);
      if (is_new) continue;
      notes.add({.severity = Severity::warning,
                 .code = "host-in-two-blocks",
                 .message = fmt::format("host {} is in block {} and in block {}", host,
                                        known->second->name, block.name),
                 .where = "",
                 .remedy = "leave it in one of them"},
                block.line);
    }
  }
}

}  // namespace lockstep::topology
