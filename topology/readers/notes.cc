#include "topology/readers/notes.h"

#include <fmt/format.h>

#include <utility>

namespace lockstep::topology {

void Notes::add(Finding finding, int line) {
  if (findings_.size() == kMax) {
    ++left_out_;
    return;
  }
  if (finding.where.empty()) finding.where = line > 0 ? fmt::format("{}:{}", file_, line) : file_;
  findings_.push_back(std::move(finding));
}

std::vector<Finding> Notes::take() {
  if (left_out_ > 0) {
    findings_.push_back({.severity = Severity::warning,
                         .code = "more-damage",
                         .message = fmt::format("{} more findings like these", left_out_),
                         .where = file_,
                         .remedy = "record it again; the file is badly damaged"});
    left_out_ = 0;
  }
  return std::exchange(findings_, {});
}

}  // namespace lockstep::topology
