// The files from which NCCL takes settings: NCCL_CONF_FILE's, ~/.nccl.conf, /etc/nccl.conf.
//
// The grammar is NCCL's (misc/param.cc, 2.28), and no shell's. A line is NAME=VALUE up to its end,
// at most 1023 bytes each; nothing is trimmed, unquoted or computed. A line whose first byte is
// '#', or without '=', is none. Within a file the first line of a name wins. Thread rule: pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/finding.h"
#include "topology/system.h"

namespace lockstep::topology {

// NCCL_*, FI_*, CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
[[nodiscard]] bool concerns_nccl(std::string_view name);

// The place in `value` that somebody was to fill in: "{{path}}", "${VAR}", "<interface>".
[[nodiscard]] std::optional<std::string_view> unfilled_place(std::string_view value);

// Of a variable whose value has such a place. `where` is FILE:LINE.
[[nodiscard]] Finding unfilled_finding(std::string_view variable, std::string_view value,
                                       std::string where);

struct NcclConf {
  std::vector<Setting> settings;  // in the file's order, what an earlier line hides included
  std::vector<Finding> findings;  // at FILE:LINE, at most Notes::kMax and one
};

// What NCCL takes from a file of that text. A line that was meant for NCCL and sets nothing
// ("export NCCL_DEBUG=INFO", " NCCL_DEBUG=INFO", "NCCL_DEBUG = INFO") is a finding and no setting;
// a value of which NCCL takes more than was meant (quotes, blanks, a comment, a carriage return) is
// a finding beside its setting. Cost: linear.
[[nodiscard]] NcclConf parse_nccl_conf(std::string_view text, std::string_view origin);

}  // namespace lockstep::topology
