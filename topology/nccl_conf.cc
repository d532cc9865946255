#include "topology/nccl_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "topology/blanks.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kLongest = 1023;
constexpr std::size_t kMostShown = 80;

std::string shown(std::string_view text) {
  return std::string(text.substr(0, kMostShown));
}

// The name that somebody meant who wrote `name`: without blanks, a shell's word, or the mark that
// some editors put at the beginning of a file.
std::string_view meant_name(std::string_view name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (name.starts_with(kByteOrderMark)) name.remove_prefix(kByteOrderMark.size());
  name = trimmed(name);
  for (const std::string_view word : {"export ", "export\t", "declare -x ", "setenv ", "set "}) {
    if (name.starts_with(word)) return trimmed(name.substr(word.size()));
  }
  return name;
}

// The value that was meant: without blanks, a comment behind it, and quotes around it.
std::string_view meant_value(std::string_view value) {
  value = trimmed(value);
  if (const std::size_t comment = value.find(" #"); comment != std::string_view::npos)
    value = trimmed(value.substr(0, comment));
  const bool quoted = value.size() > 1 && value.front() == value.back() &&
                      (value.front() == '"' || value.front() == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// The place between `open` and `close`, both included; a letter must follow `open`.
std::optional<std::string_view> place_between(std::string_view value, std::string_view open,
                                              std::string_view close) {
  const std::size_t begin = value.find(open);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view inside = value.substr(begin + open.size());
  const std::size_t end = inside.find(close);
  const std::string_view name = trimmed(inside.substr(0, end));
  const bool is_name = end != std::string_view::npos && !name.empty() &&
                       ((name.front() >= 'a' && name.front() <= 'z') ||
                        (name.front() >= 'A' && name.front() <= 'Z') || name.front() == '_');
  if (!is_name) return std::nullopt;
  return value.substr(begin, open.size() + end + close.size());
}

class ConfFile {
 public:
  explicit ConfFile(std::string_view origin) : origin_(origin), notes_(origin) {}

  NcclConf read(std::string_view text) {
    for (int number = 1; !text.empty(); ++number) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      read_line(line.substr(0, line.find('\0')), number);  // NCCL's lines are C strings
    }
    if (returns_ > 0) say_returns();
    return {.settings = std::move(settings_), .findings = notes_.take()};
  }

 private:
  void read_line(std::string_view line, int number) {
    if (line.starts_with('#')) return;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return say_none(line, number);
    const std::string_view name = line.substr(0, equals), value = line.substr(equals + 1);
    const std::string_view meant = meant_name(name);
    if (concerns_nccl(meant) && meant != name) return say_name(name, value, number);
    if (concerns_nccl(name)) check_value(name, value, number);
    settings_.push_back({.variable = std::string(name.substr(0, kLongest)),
                         .value = std::string(value.substr(0, kLongest)),
                         .origin = origin_});
  }

  void say_none(std::string_view line, int number) {
    const std::string_view meant = meant_name(line);
    if (!meant.starts_with("NCCL_")) return;
    notes_.add({.severity = Severity::warning,
                .code = "conf-line-ignored",
                .message = fmt::format("NCCL ignores the line \"{}\", which has no '='",
                                       shown(trimmed(line))),
                .where = "",
                .remedy = "write NAME=VALUE"},
               number);
  }

  void say_name(std::string_view name, std::string_view value, int number) {
    notes_.add(
        {.severity = Severity::warning,
         .code = "conf-line-ignored",
         .message = fmt::format("NCCL ignores the line: to it all of \"{}\" in front of the "
                                "'=' is the variable's name, blanks and words of a shell "
                                "included",
                                shown(name)),
         .where = "",
         .remedy = fmt::format("write {}={}", shown(meant_name(name)), shown(meant_value(value)))},
        number);
  }

  void check_value(std::string_view name, std::string_view value, int number) {
    if (value.ends_with('\r')) {
      if (returns_++ == 0) first_return_ = number;
      value.remove_suffix(1);
    }
    if (value.size() > kLongest) {
      notes_.add({.severity = Severity::warning,
                  .code = "conf-value-literal",
                  .message = fmt::format("NCCL cuts {}'s value of {} bytes after {}", shown(name),
                                         value.size(), kLongest),
                  .where = "",
                  .remedy = "write a shorter one"},
                 number);
      return;
    }
    const std::string_view meant = meant_value(value);
    if (meant != value) {
      notes_.add({.severity = Severity::warning,
                  .code = "conf-value-literal",
                  .message = fmt::format("NCCL takes all of [{}] as {}'s value, with its quotes, "
                                         "blanks or comment",
                                         shown(value), shown(name)),
                  .where = "",
                  .remedy = fmt::format("write {}={}", shown(name), shown(meant))},
                 number);
    }
    if (unfilled_place(value)) {
      notes_.add(unfilled_finding(name, value, ""), number);
    } else if (meant.starts_with('$') || meant.starts_with("~/")) {
      notes_.add({.severity = Severity::warning,
                  .code = "conf-value-literal",
                  .message = fmt::format("NCCL takes {}'s value \"{}\" as it stands: it knows "
                                         "neither '$' nor '~'",
                                         shown(name), shown(meant)),
                  .where = "",
                  .remedy = "write what a shell would put there"},
                 number);
    }
  }

  void say_returns() {
    notes_.add({.severity = Severity::warning,
                .code = "conf-value-literal",
                .message = fmt::format("NCCL takes the carriage return at the line's end as part "
                                       "of the value, here and in {} lines in all",
                                       returns_),
                .where = "",
                .remedy = "end lines with a line feed alone (dos2unix)"},
               first_return_);
  }

  std::string origin_;
  Notes notes_;
  std::vector<Setting> settings_;
  int returns_ = 0, first_return_ = 0;  // values that end in one
};

}  // namespace

bool concerns_nccl(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("FI_") || name == "CUDA_VISIBLE_DEVICES" ||
         name == "CUDA_DEVICE_ORDER";
}

std::optional<std::string_view> unfilled_place(std::string_view value) {
  // Of "{{ path }}" a shell's word ends at the blank.
  if (value.ends_with("{{")) return value.substr(value.size() - 2);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPlaces{
      {{"{{", "}}"}, {"${", "}"}, {"<", ">"}}};
  for (const auto& [open, close] : kPlaces) {
    if (const auto place = place_between(value, open, close)) return place;
  }
  return std::nullopt;
}

Finding unfilled_finding(std::string_view variable, std::string_view value, std::string where) {
  return {.severity = Severity::warning,
          .code = "value-unfilled",
          .message = fmt::format("{}'s value \"{}\" has a place that was not filled in: {}",
                                 shown(variable), shown(value),
                                 shown(unfilled_place(value).value_or(value))),
          .where = std::move(where),
          .remedy = "fill it in, or remove the line: NCCL takes it as it stands"};
}

NcclConf parse_nccl_conf(std::string_view text, std::string_view origin) {
  return ConfFile(origin).read(text);
}

}  // namespace lockstep::topology
