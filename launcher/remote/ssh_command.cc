#include "launcher/remote/ssh_command.h"

#include <fmt/format.h>

#include <random>
#include <sstream>

namespace lockstep::launcher {

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

  std::string args;
  for (const std::string& arg : program.args) args += fmt::format(" {}", shell_word(arg));
  const std::string path = shell_word(program.path);
  // In sh, since the login shell may be csh or fish.
  const std::string script =
      fmt::format("echo {}; if [ -x {} ]; then exec {}{}; else exec {}{}; fi", nonce, path, path,
                  args, shell_word(program.name), args);
  command.push_back(fmt::format("exec /bin/sh -c {}", shell_word(script)));
  return command;
}

}  // namespace lockstep::launcher
