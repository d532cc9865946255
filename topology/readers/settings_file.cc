#include "topology/readers/settings_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/blanks.h"
#include "topology/probe/nccl_settings.h"
#include "topology/readers/lines.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kBlanks = " \t";

bool is_name_letter(char c, bool first) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

// The name in front of an '=' at the beginning of `text`.
std::optional<std::string_view> name_at(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_name_letter(text[end], end == 0)) ++end;
  if (end == 0 || end == text.size() || text[end] != '=') return std::nullopt;
  return text.substr(0, end);
}

std::string_view without_leading_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kBlanks);
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

// `text` behind "export " or "declare -x ", or nothing where it begins with neither.
std::optional<std::string_view> behind_export(std::string_view text) {
  for (const std::string_view word : {"export", "declare -x"}) {
    const auto rest = after(text, word);
    if (rest && !rest->empty() && kBlanks.find(rest->front()) != std::string_view::npos)
      return without_leading_blanks(*rest);
  }
  return std::nullopt;
}

struct Word {
  std::string text;
  bool is_computed = false;  // a shell would put something in place of $NAME or `command`
  bool is_open = false;      // its quote does not end on the line
};

// One word of a shell, from the beginning of `line`, which is cut by it.
Word take_word(std::string_view& line) {
  Word word;
  char quote = 0;
  std::size_t at = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (quote == 0 && (kBlanks.find(c) != std::string_view::npos || c == ';')) break;
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
  line = without_leading_blanks(line.substr(at));
  return word;
}

class Reader {
 public:
  explicit Reader(const Recording& recording) : recording_(recording), notes_(recording.name) {}

  Reading read() {
    for (Lines lines(recording_.text); lines.next();) read_line(lines.text(), lines.number());
    Reading reading;
    reading.machine.sources = {"settings-file"};
    reading.machine.system.settings = std::move(settings_);
    reading.machine.findings = notes_.take();
    return reading;
  }

 private:
  void read_line(std::string_view line, int number) {
    line = without_leading_blanks(line);
    if (line.empty() || line.front() == '#') return;
    if (const auto rest = behind_export(line)) {
      is_script_ = true;
      line = *rest;
    }
    while (!line.empty() && line.front() != '#') {
      const auto name = name_at(line);
      if (!name) return say_other(line, number);
      line.remove_prefix(name->size() + 1);
      // A blank behind '=' ends an empty value.
      Word value = take_word(line);
      while (line.starts_with(';')) line = without_leading_blanks(line.substr(1));
      if (concerns_nccl(*name)) add(std::string(*name), std::move(value), number);
    }
  }

  // Lines of other programs are passed over; one that was meant to be a setting is not.
  void say_other(std::string_view rest, int number) {
    if (!rest.starts_with("NCCL_")) return;
    notes_.add({.severity = Severity::warning,
                .code = "not-a-setting",
                .message = fmt::format("expected NAME=VALUE, found \"{}\"", rest.substr(0, 80)),
                .where = "",
                .remedy = "write it without blanks around '='"},
               number);
  }

  void add(std::string name, Word value, int number) {
    if (value.is_computed || value.is_open) {
      notes_.add(
          {.severity = value.is_open ? Severity::warning : Severity::info,
           .code = "value-unknown",
           .message = value.is_open
                          ? fmt::format("the quote of {}'s value does not end on its line", name)
                          : fmt::format("{}'s value \"{}\" is computed by the shell and not known",
                                        name, value.text.substr(0, 80)),
           .where = "",
           .remedy = "give what `env` prints on the host"},
          number);
      return;
    }
    const auto [known, is_new] = places_.try_emplace(name, settings_.size());
    if (is_new) {
      settings_.push_back(
          {.variable = std::move(name), .value = std::move(value.text), .origin = recording_.name});
      return;
    }
    Setting& setting = settings_[known->second];
    if (setting.value == value.text) return;
    notes_.add({.severity = Severity::warning,
                .code = "set-twice",
                .message = fmt::format("{} is set to \"{}\" and to \"{}\": {} counts", name,
                                       setting.value.substr(0, 80), value.text.substr(0, 80),
                                       is_script_ ? "the last" : "the first"),
                .where = "",
                .remedy = "remove the other one"},
               number);
    if (is_script_) setting.value = std::move(value.text);
  }

  const Recording& recording_;
  Notes notes_;
  bool is_script_ = false;
  std::vector<Setting> settings_;
  std::map<std::string, std::size_t> places_;  // by name, of settings_
};

}  // namespace

bool is_settings_file(std::string_view text) {
  std::size_t assignments = 0, others = 0;
  bool has_nccl = false;
  for (Lines lines(text); lines.next();) {
    std::string_view line = trimmed(lines.text());
    if (line.empty() || line.front() == '#') continue;
    line = behind_export(line).value_or(line);
    const auto name = name_at(line);
    ++(name ? assignments : others);
    has_nccl = has_nccl || (name && name->starts_with("NCCL_"));
  }
  return has_nccl && assignments >= others;
}

Reading read_settings_file(const Recording& recording) {
  return Reader(recording).read();
}

}  // namespace lockstep::topology
