// What a job's output looks like on the launcher's own standard output and error.
//
// Lines of workers are prefixed with "[rank] ", where there are several hosts "[host:rank] ", but
// for the standard output of rank 0 where it is bare. On a terminal a bare rank 0 may leave a line
// unfinished (a progress line that redraws itself): other lines are then put above it and it is
// drawn again. Thread rule: one thread. Cost: one copy of the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

enum class LeadLines { kPrefixed, kBare };

class Screen {
 public:
  explicit Screen(LeadLines lead) : lead_(lead) {}

  // The bytes to write to the stream of that name.
  // REQUIRES: whole lines, but for a bare lead's standard output.
  [[nodiscard]] std::string show(const Output& output, std::string_view host = {});
  // Lines of the launcher's own.
  [[nodiscard]] std::string say(std::string_view lines);

 private:
  [[nodiscard]] std::string above_progress(std::string lines) const;

  LeadLines lead_;
  std::string progress_;  // what the lead wrote since its last '\n' or '\r'
};

}  // namespace lockstep::launcher
