// NCCL's variables that are already set on a host, and by whom.
//
// Order of precedence is NCCL's (misc/param.cc, 2.28): the environment wins over the file that
// NCCL_CONF_FILE names, or ~/.nccl.conf where that is not set; these win over /etc/nccl.conf. Their
// grammar: topology/nccl_conf.h. Thread rule: pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

using Environment = std::map<std::string, std::string>;

// Fills machine.system.settings in falling precedence, what is hidden by a higher one included. Of
// the environment these are those that concern NCCL. A named file that cannot be read is a finding,
// and so is each line of the files that NCCL does not take as it was meant.
// `home` is the user's home as the password database has it; empty: not known.
void read_nccl_settings(const FileTree& tree, const Environment& environment,
                        const std::string& home, Machine& machine);

}  // namespace lockstep::topology
