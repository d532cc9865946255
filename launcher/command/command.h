// What the commands of `lockstep` have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

// One row of the table in main.cc; adding a command is adding a row.
struct Command {
  std::string_view name;
  std::string_view summary;
  // `args` is what follows the command's name. Returns the exit code.
  int (*run)(const std::vector<std::string>& args);
};

// The user asked for something that cannot be: exit code 2, nothing was started.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Parses `args` into what `app` binds. Returns the exit code where there is nothing more to do
// (help was asked for and printed). Throws UsageError; an unknown flag is answered with the nearest
// one.
[[nodiscard]] std::optional<int> parse_command_line(CLI::App& app, std::vector<std::string> args);

// The flag or command that was meant by a mistyped one: the shortest that begins with `word`, if
// that has two letters, else the nearest; none where none is near.
[[nodiscard]] std::optional<std::string_view> meant_by(std::string_view word,
                                                       const std::vector<std::string_view>& names);

int run_launch(const std::vector<std::string>& args);
int run_probe(const std::vector<std::string>& args);
int run_train(const std::vector<std::string>& args);
int run_tune(const std::vector<std::string>& args);

}  // namespace lockstep::launcher
