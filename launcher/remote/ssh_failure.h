// Why a command by ssh did not do what it should, in words that say what to do.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::launcher {

struct SshEnd {
  int code = 0;    // of the ssh client
  int signal = 0;  // that ended it, else 0
  // The program was about to run there: ssh itself had done its part.
  bool reached = false;
  std::string said;  // on standard error, from ssh and what it ran
};

struct SshFailure {
  std::string why;      // completes "host H ...": "could not be reached: Connection refused"
  bool passes = false;  // sshd was too busy (MaxStartups) or a name server was: worth another try
};

// `client` is the user's ssh command, `program` what was to run there. Pure.
[[nodiscard]] SshFailure ssh_failure(const SshEnd& end, std::string_view client,
                                     std::string_view program);

}  // namespace lockstep::launcher
