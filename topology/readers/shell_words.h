// The words of a line as a shell takes it apart: quotes, backslashes, NAME=VALUE, `export`.
//
// Nothing is run, and a value that a shell would compute is marked as such. Thread rule: pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::topology {

// What blanks are to a shell.
inline constexpr std::string_view kShellBlanks = " \t";

struct ShellWord {
  std::string text;
  bool is_computed = false;  // a shell would put something in place of $NAME or `command`
  bool is_open = false;      // its quote does not end on the line
};

// One word, from the beginning of `line`, which is cut by it and by the blanks and semicolons that
// follow. Each call takes at least one byte of a line that is not empty.
[[nodiscard]] ShellWord take_shell_word(std::string_view& line);

// The name in front of an '=' at the beginning of `text`.
[[nodiscard]] std::optional<std::string_view> assigned_name(std::string_view text);

// `text` behind "export " or "declare -x ", or nothing where it begins with neither.
[[nodiscard]] std::optional<std::string_view> behind_export(std::string_view text);

[[nodiscard]] std::string_view without_leading_blanks(std::string_view text);

}  // namespace lockstep::topology
