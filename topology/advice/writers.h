// Advice as files and text: shell lines, NCCL's own file, JSON, and an explanation for people.
//
// The env and conf writers refuse, with std::invalid_argument, a setting that would do harm
// (topology/advice/hazards.h) or that their format cannot hold; what is kept they only mention, in
// comments, since it is in force without them. Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "topology/advice/advice.h"

namespace lockstep::topology {

// `export NAME=value` lines for sh and bash, quoted where they need it, each after its reason.
[[nodiscard]] std::string write_env(const HostAdvice& advice);

// NAME=value lines as NCCL_CONF_FILE takes them (NCCL 2.23 and newer; /etc/nccl.conf: all): nothing
// is quoted, a '#' in the first column begins a comment, names and values have at most 1023 bytes.
[[nodiscard]] std::string write_conf(const HostAdvice& advice);

// `lockstep tune --format json`, version 1 (CONTRACTS.md). Kept settings have "origin", "standing"
// and "advised" too, hosts "left_out" and "unset"; "findings" beside "hosts" are `of_all`. Text
// that is not UTF-8 is replaced.
[[nodiscard]] std::string write_json(std::span<const HostAdvice> hosts,
                                     std::span<const Finding> of_all = {});

// What is set and why, what is kept, who uses which NIC, and what was left out.
[[nodiscard]] std::string explain(const HostAdvice& advice);

// One word of a POSIX shell.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace lockstep::topology
