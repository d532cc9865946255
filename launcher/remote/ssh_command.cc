#include "launcher/remote/ssh_command.h"

#include <fmt/format.h>

#include <random>
#include <sstream>

namespace lockstep::launcher {

namespace {

// In sh, since the login shell may be csh or fish.
std::string script_of(const RemoteProgram& program, std::string_view nonce) {
  std::string args;
  for (const std::string& arg : program.args) args += fmt::format(" {}", shell_word(arg));
  const std::string path = shell_word(program.path);
  return fmt::format("echo {}; if [ -x {} ]; then exec {}{}; else exec {}{}; fi", nonce, path, path,
                     args, shell_word(program.name), args);
}

}  // namespace

std::string make_nonce() {
  std::random_device random;
  return fmt::format("lockstep-{:08x}{:08x}{:08x}", random(), random(), random());
}

std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += R"('\'')";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::vector<std::string> ssh_command(std::string_view client, const std::string& host,
                                     const RemoteProgram& program, std::string_view nonce,
                                     std::chrono::seconds connect_timeout) {
  std::vector<std::string> command;
  std::istringstream words{std::string(client)};
  for (std::string word; words >> word;) command.push_back(word);
  for (const char* option :
       {"BatchMode=yes", "ForwardX11=no", "ForwardAgent=no", "ClearAllForwardings=yes"}) {
    command.insert(command.end(), {"-o", option});
  }
  command.insert(command.end(), {"-o", fmt::format("ConnectTimeout={}", connect_timeout.count()),
                                 "-T", "--", host});

  command.push_back(fmt::format("exec /bin/sh -c {}", shell_word(script_of(program, nonce))));
  return command;
}

std::vector<std::string> srun_command(const std::string& host, const RemoteProgram& program,
                                      std::string_view nonce) {
  return {"srun",
          "--overlap",
          "--nodes=1",
          "--ntasks=1",
          "--nodelist=" + host,
          "--cpu-bind=none",
          "--kill-on-bad-exit=0",
          "--wait=0",
          "--mem=0",
          "--unbuffered",
          "--quiet",
          "--",
          "/bin/sh",
          "-c",
          script_of(program, nonce)};
}

}  // namespace lockstep::launcher
