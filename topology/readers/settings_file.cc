#include "topology/readers/settings_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topology/blanks.h"
#include "topology/nccl_conf.h"
#include "topology/provider_marks.h"
#include "topology/readers/lines.h"
#include "topology/readers/notes.h"
#include "topology/readers/shell_words.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMostHeading = 4096;  // bytes of comments in which a provider is looked for

// Whether NCCL's variable is set by `text`, blanks around '=' or not.
bool sets_nccl(std::string_view text) {
  if (!text.starts_with("NCCL_")) return false;
  const std::string_view name = text.substr(0, text.find_first_of("= \t"));
  return without_leading_blanks(text.substr(name.size())).starts_with('=');
}

// Flags by which programs that start others take NAME=VALUE as the next word.
bool is_variable_flag(std::string_view word) {
  constexpr std::array<std::string_view, 4> kFlags{"-x", "--x", "-e", "--env"};
  return std::ranges::find(kFlags, word) != kFlags.end();
}

// Those of MPICH and Intel MPI, which take NAME and VALUE.
bool is_name_flag(std::string_view word) {
  return word == "-genv" || word == "-env";
}

constexpr std::string_view kExport = "--export=";  // srun's and sbatch's

// Whether a line starts a program and sets NCCL's variables for it by flags.
bool passes_nccl(std::string_view line) {
  if (line.find("NCCL_") == kNowhere) return false;
  while (!line.empty() && line.front() != '#') {
    const ShellWord word = take_shell_word(line);
    if (is_variable_flag(word.text) && take_shell_word(line).text.starts_with("NCCL_")) return true;
    if (is_name_flag(word.text) && line.starts_with("NCCL_")) return true;
    if (word.text.starts_with(kExport) && word.text.find("NCCL_") != kNowhere) return true;
  }
  return false;
}

// What only a script has.
bool is_script_line(std::string_view line, int number) {
  constexpr std::array<std::string_view, 9> kStarts{
      "#SBATCH", "#PBS", "#BSUB", "#COBALT", "#$ ", "mpirun ", "mpiexec", "srun ", "torchrun "};
  if (number == 1 && line.starts_with("#!")) return true;
  return std::ranges::any_of(kStarts,
                             [&](std::string_view start) { return line.starts_with(start); }) ||
         passes_nccl(line);
}

bool is_script(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    if (is_script_line(without_leading_blanks(lines.text()), lines.number())) return true;
  }
  return false;
}

bool has_export(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    if (behind_export(without_leading_blanks(lines.text()))) return true;
  }
  return false;
}

// The comments in front of the first other line.
std::string heading_comment(std::string_view text) {
  std::string heading;
  for (Lines lines(text); lines.next() && heading.size() < kMostHeading;) {
    const std::string_view line = trimmed(lines.text());
    if (!line.empty() && line.front() != '#') break;
    heading += fmt::format("{}\n", line.substr(0, kMostHeading));
  }
  return heading;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

Provider provider_of_file(const Recording& recording, std::span<const Setting> settings) {
  if (const Provider own = provider_of_settings(settings); own != Provider::none) return own;
  const Provider by_name = provider_named(base_name(recording.name));
  return by_name != Provider::none ? by_name : provider_named(heading_comment(recording.text));
}

class Reader {
 public:
  explicit Reader(const Recording& recording)
      : recording_(recording),
        notes_(recording.name),
        starts_programs_(is_script(recording.text)),
        is_script_(starts_programs_ || has_export(recording.text)) {}

  Reading read() {
    if (!starts_programs_ && recording_.name.ends_with(".conf")) {
      read_conf();
    } else {
      for (Lines lines(recording_.text); lines.next();) read_line(lines.text(), lines.number());
    }
    Reading reading;
    reading.machine.sources = {"settings-file"};
    reading.machine.system.provider = provider_of_file(recording_, settings_);
    reading.machine.system.settings = std::move(settings_);
    reading.machine.findings = notes_.take();
    return reading;
  }

 private:
  void read_conf() {
    is_script_ = false;
    NcclConf conf = parse_nccl_conf(recording_.text, recording_.name);
    for (Finding& finding : conf.findings) notes_.add(std::move(finding));
    for (Setting& setting : conf.settings) {
      if (concerns_nccl(setting.variable))
        keep(std::move(setting.variable), std::move(setting.value), 0);
    }
  }

  void read_line(std::string_view line, int number) {
    line = without_leading_blanks(line);
    bool is_command = false;
    while (!line.empty() && line.front() != '#') {
      const auto exported = behind_export(line);
      if (exported) line = *exported;
      if (const auto name = assigned_name(line); name && !is_command) {
        line.remove_prefix(name->size() + 1);
        take_value(std::string(*name), line, number);
      } else {
        // `export NAME` is of a value that was set before.
        if (!is_command && (!exported || sets_nccl(line))) say_other(line, number);
        is_command = true;
        take_argument(line, number);
      }
    }
  }

  // A blank behind '=' ends an empty value.
  void take_value(std::string name, std::string_view& line, int number) {
    ShellWord value;
    const bool is_empty = !line.empty() && kShellBlanks.find(line.front()) != kNowhere;
    if (is_empty || line.starts_with(';')) {
      line.remove_prefix(1);
      line = without_leading_blanks(line);
    } else {
      value = take_shell_word(line);
    }
    if (concerns_nccl(name)) add(std::move(name), std::move(value), number);
  }

  // A word of a command, and what it says of variables.
  void take_argument(std::string_view& line, int number) {
    const ShellWord word = take_shell_word(line);
    if (is_variable_flag(word.text)) {
      take_assignment(take_shell_word(line), number);
    } else if (is_name_flag(word.text)) {
      std::string name = take_shell_word(line).text;
      ShellWord value = take_shell_word(line);
      if (concerns_nccl(name)) add(std::move(name), std::move(value), number);
    } else if (word.text.starts_with(kExport)) {
      std::string_view list = std::string_view(word.text).substr(kExport.size());
      while (!list.empty()) {
        const std::string_view part = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), part.size() + 1));
        take_assignment({.text = std::string(part), .is_computed = word.is_computed}, number);
      }
    }
  }

  void take_assignment(ShellWord word, int number) {
    const auto found = assigned_name(word.text);
    if (!found || !concerns_nccl(*found)) return;
    std::string name(*found);
    word.text.erase(0, name.size() + 1);
    add(std::move(name), std::move(word), number);
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

  void add(std::string name, ShellWord value, int number) {
    if (value.is_open) {
      say_unknown(fmt::format("the quote of {}'s value does not end on its line", name), number);
    } else if (value.is_computed && !is_script_ && unfilled_place(value.text)) {
      notes_.add(unfilled_finding(name, value.text, ""), number);
    } else if (value.is_computed) {
      say_unknown(fmt::format("{}'s value \"{}\" is computed by the shell and not known", name,
                              value.text.substr(0, 80)),
                  number);
    } else {
      if (unfilled_place(value.text)) notes_.add(unfilled_finding(name, value.text, ""), number);
      keep(std::move(name), std::move(value.text), number);
    }
  }

  void say_unknown(std::string message, int number) {
    notes_.add({.severity = Severity::warning,
                .code = "value-unknown",
                .message = std::move(message),
                .where = "",
                .remedy = "give what `env` prints on the host"},
               number);
  }

  void keep(std::string name, std::string value, int number) {
    const auto [known, is_new] = places_.try_emplace(name, settings_.size());
    if (is_new) {
      settings_.push_back(
          {.variable = std::move(name), .value = std::move(value), .origin = recording_.name});
      return;
    }
    Setting& setting = settings_[known->second];
    if (setting.value == value) return;
    notes_.add({.severity = Severity::warning,
                .code = "set-twice",
                .message = fmt::format("{} is set to \"{}\" and to \"{}\": {} counts", name,
                                       setting.value.substr(0, 80), value.substr(0, 80),
                                       is_script_ ? "the last" : "the first"),
                .where = "",
                .remedy = "remove the other one"},
               number);
    if (is_script_) setting.value = std::move(value);
  }

  const Recording& recording_;
  Notes notes_;
  const bool starts_programs_;
  bool is_script_;
  std::vector<Setting> settings_;
  std::map<std::string, std::size_t> places_;  // by name, of settings_
};

}  // namespace

bool is_settings_file(std::string_view text) {
  std::size_t assignments = 0, others = 0;
  bool has_nccl = false, has_script = false, goes_on = false;
  for (Lines lines(text); lines.next();) {
    std::string_view line = trimmed(lines.text());
    has_script = has_script || (lines.number() == 1 && line.starts_with("#!"));
    if (line.empty() || line.front() == '#') continue;
    line = behind_export(line).value_or(line);
    const bool is_of_nccl = sets_nccl(line) || passes_nccl(line);
    if (is_of_nccl || assigned_name(line)) {
      ++assignments;
    } else if (!goes_on) {
      ++others;  // a command counts once, over however many lines it goes
    }
    goes_on = line.ends_with('\\');
    has_nccl = has_nccl || is_of_nccl;
  }
  return has_nccl && (has_script || assignments >= others);
}

Reading read_settings_file(const Recording& recording) {
  return Reader(recording).read();
}

}  // namespace lockstep::topology
