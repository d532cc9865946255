#include "topology/readers/shell_words.h"

#include "topology/letters.h"
#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

bool is_name_letter(char c, bool first) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (!first && is_digit(c));
}

bool is_blank(char c) {
  return kShellBlanks.find(c) != kNowhere;
}

}  // namespace

ShellWord take_shell_word(std::string_view& line) {
  ShellWord word;
  char quote = 0;
  std::size_t at = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (quote == 0 && (is_blank(c) || c == ';')) break;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (at + 1 < line.size()) word.text += line[++at];
    } else {
      word.is_computed = word.is_computed || (quote != '\'' && (c == '$' || c == '`'));
      word.text += c;
    }
  }
  word.is_open = quote != 0;
  while (at < line.size() && (is_blank(line[at]) || line[at] == ';')) ++at;
  line.remove_prefix(at);
  return word;
}

std::optional<std::string_view> assigned_name(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_name_letter(text[end], end == 0)) ++end;
  if (end == 0 || end == text.size() || text[end] != '=') return std::nullopt;
  return text.substr(0, end);
}

std::optional<std::string_view> behind_export(std::string_view text) {
  for (const std::string_view word : {"export", "declare -x"}) {
    const auto rest = after(text, word);
    if (rest && !rest->empty() && is_blank(rest->front())) return without_leading_blanks(*rest);
  }
  return std::nullopt;
}

std::string_view without_leading_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kShellBlanks);
  return start == kNowhere ? std::string_view() : text.substr(start);
}

}  // namespace lockstep::topology
