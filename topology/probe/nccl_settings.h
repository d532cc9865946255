// NCCL's variables that are already set on a host, and by whom.
//
// Order of precedence and grammar are NCCL's (misc/param.cc, 2.28): the environment wins over the
// file that NCCL_CONF_FILE names, or ~/.nccl.conf where that is not set; these win over
// /etc/nccl.conf; within a file the first line wins. A line is KEY=VALUE up to its end, at most
// 1023 bytes each, nothing trimmed; a line whose first byte is '#', or without '=', is none. Thread
// rule: pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

using Environment = std::map<std::string, std::string>;

// NCCL_*, FI_*, CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
[[nodiscard]] bool concerns_nccl(std::string_view name);

[[nodiscard]] std::vector<Setting> parse_nccl_conf(std::string_view text, std::string_view origin);

// Fills machine.system.settings in falling precedence, what is hidden by a higher one included. Of
// the environment these are those that concern NCCL. A named file that cannot be read is a finding.
// `home` is the user's home as the password database has it; empty: not known.
void read_nccl_settings(const FileTree& tree, const Environment& environment,
                        const std::string& home, Machine& machine);

}  // namespace lockstep::topology
