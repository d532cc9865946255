// The command line that runs a program on another host by ssh or srun.
//
// Thread rule: any thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

struct RemoteProgram {
  std::string path;               // used where it is executable there
  std::string name;               // else looked up in that host's PATH
  std::vector<std::string> args;  // byte for byte, whatever shell is there that knows POSIX quoting
};

// `client` is ssh and flags of the user's ("ssh -F config"), split at blanks. Never asks a
// question, takes no terminal, forwards nothing; `nonce` is printed on a line of its own before the
// program starts, since a login may print anything before that.
[[nodiscard]] std::vector<std::string> ssh_command(std::string_view client, const std::string& host,
                                                   const RemoteProgram& program,
                                                   std::string_view nonce,
                                                   std::chrono::seconds connect_timeout);

// The same by Slurm's srun, in a step of its own that takes nothing from others (--overlap) and has
// all of the host's share of the allocation.
[[nodiscard]] std::vector<std::string> srun_command(const std::string& host,
                                                    const RemoteProgram& program,
                                                    std::string_view nonce);

// A word that nobody else prints: random.
[[nodiscard]] std::string make_nonce();

// `text` as one word of a POSIX shell.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace lockstep::launcher
