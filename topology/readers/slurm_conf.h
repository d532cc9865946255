// The grammar of Slurm's configuration files: lines of Key=Value.
//
// Thread rule: a value. Source: Slurm's parse_config.c. Keys are compared without regard to case,
// values may be quoted, blanks around `=` are allowed, `#` begins a comment and `\` at a line's end
// continues it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/readers/lines.h"

namespace lockstep::topology {

// One line, with those that continue it.
struct SlurmLine {
  int number = 0;  // of the first
  // As they stand; keys in lower case.
  std::vector<std::pair<std::string, std::string>> settings;
  std::string strange;  // the first word that is not part of a setting
  bool cut = false;     // longer than Lines reads: its end is missing

  // The value of `key`, given in lower case; the last one where it stands several times.
  [[nodiscard]] std::optional<std::string_view> value(std::string_view key) const;
};

class SlurmConf {
 public:
  explicit SlurmConf(std::string_view text) : lines_(text) {}

  // The next line that says something; empty at the end.
  [[nodiscard]] std::optional<SlurmLine> next();

 private:
  Lines lines_;
};

}  // namespace lockstep::topology
