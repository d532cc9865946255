#include "topology/readers/slurm_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "topology/host_list.h"
#include "topology/readers/lines.h"
#include "topology/readers/notes.h"
#include "topology/readers/slurm_blocks.h"
#include "topology/readers/slurm_conf.h"
#include "topology/readers/slurm_tree.h"

namespace lockstep::topology {
namespace {

// All names that the lists of a file may have together: eight times the largest cluster's hosts.
constexpr std::size_t kLongestNames = 1 << 18;

constexpr std::array<std::string_view, 3> kFirstWords{"switchname", "blockname", "blocksizes"};

class ConfReader {
 public:
  explicit ConfReader(const Recording& recording) : recording_(recording), notes_(recording.name) {}

  Reading read() {
    SlurmConf conf(recording_.text);
    while (const auto line = conf.next()) take(*line);
    Reading reading;
    reading.fabric = fabric_of_tree(switches_, recording_.name, notes_);
    check_blocks(blocks_, sizes_, sizes_line_, notes_);
    for (SlurmBlock& block : blocks_) reading.fabric->blocks.push_back(std::move(block.hosts));
    reading.fabric->block_sizes = std::move(sizes_);
    reading.machine.sources = {"slurm-topology"};
    reading.machine.findings = notes_.take();
    return reading;
  }

 private:
  void take(const SlurmLine& line) {
    if (line.cut) {
      throw ReadError(recording_.name, line.number,
                      fmt::format("a line of more than {} bytes; write ranges such as "
                                  "node[01-64], or continue it on the next line with \\ at its end",
                                  Lines::kMaxLength));
    }
    if (const auto name = line.value("switchname")) {
      take_switch(line, *name);
    } else if (const auto block = line.value("blockname")) {
      take_block(line, *block);
    } else if (const auto sizes = line.value("blocksizes")) {
      sizes_ = parse_block_sizes(*sizes, recording_.name, line.number);
      sizes_line_ = line.number;
    } else {
      const std::string word = line.settings.empty() ? line.strange : line.settings[0].first;
      note_unread(word, line.number);
      return;
    }
    if (!line.strange.empty()) note_unread(line.strange, line.number);
  }

  void take_switch(const SlurmLine& line, std::string_view name) {
    SlurmSwitch found{.name = named(line, name),
                      .line = line.number,
                      .switches = names_of(line, "switches"),
                      .hosts = names_of(line, "nodes")};
    if (found.switches.empty() && found.hosts.empty()) {
      throw ReadError(recording_.name, line.number,
                      fmt::format("switch {}: expected Switches= or Nodes=, found neither", name));
    }
    switches_.push_back(std::move(found));
  }

  void take_block(const SlurmLine& line, std::string_view name) {
    SlurmBlock found{
        .name = named(line, name), .line = line.number, .hosts = names_of(line, "nodes")};
    if (found.hosts.empty()) {
      throw ReadError(recording_.name, line.number,
                      fmt::format("block {}: expected Nodes=, found none", name));
    }
    blocks_.push_back(std::move(found));
  }

  std::string named(const SlurmLine& line, std::string_view name) const {
    constexpr std::size_t kLongestName = 255;
    if (!name.empty() && name.size() <= kLongestName) return std::string(name);
    throw ReadError(
        recording_.name, line.number,
        fmt::format("expected a name of 1 to {} bytes, found {}", kLongestName, name.size()));
  }

  // The names of a list, each once, in its order.
  std::vector<std::string> names_of(const SlurmLine& line, std::string_view key) {
    const auto list = line.value(key);
    if (!list) return {};
    try {
      std::vector<std::string> names = expand_host_list(*list, kLongestNames - names_);
      names_ += names.size();
      std::unordered_set<std::string> seen;
      std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
      return names;
    } catch (const HostListError& error) {
      throw ReadError(recording_.name, line.number, fmt::format("{}: {}", key, error.what()));
    }
  }

  void note_unread(std::string_view word, int line) {
    notes_.add({.severity = Severity::warning,
                .code = "unread-line",
                .message = fmt::format("expected SwitchName=, BlockName= or BlockSizes=, found "
                                       "\"{}\", which is left out",
                                       word.substr(0, 80)),
                .where = "",
                .remedy = "of files that it includes, give the contents"},
               line);
  }

  const Recording& recording_;
  Notes notes_;
  std::vector<SlurmSwitch> switches_;
  std::vector<SlurmBlock> blocks_;
  std::vector<int> sizes_;
  int sizes_line_ = 0;
  std::size_t names_ = 0;
};

bool begins_with_word(std::string_view line, std::string_view word) {
  return line.size() > word.size() &&
         std::equal(word.begin(), word.end(), line.begin(),
                    [](unsigned char a, unsigned char b) { return a == std::tolower(b); });
}

}  // namespace

bool is_slurm_topology(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    const std::string_view line = trimmed(lines.text());
    for (const std::string_view word : kFirstWords) {
      if (begins_with_word(line, word) && trimmed(line.substr(word.size())).starts_with('='))
        return true;
    }
  }
  return false;
}

Reading read_slurm_topology(const Recording& recording) {
  return ConfReader(recording).read();
}

}  // namespace lockstep::topology
