#include "topology/readers/slurm_conf.h"

#include <algorithm>
#include <cstddef>

#include "topology/letters.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kSpaces = " \t";

std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted && (i == 0 || line[i - 1] != '\\')) return line.substr(0, i);
  }
  return line;
}

// Takes "Key = Value" or "Key="Value"" from the front of `rest`; false where something else stands.
bool take_setting(std::string_view& rest, SlurmLine& line) {
  const std::size_t key_end = rest.find_first_of(" \t=");
  if (key_end == 0 || key_end == std::string_view::npos) return false;
  std::string_view value = trimmed(rest.substr(key_end));
  if (!value.starts_with('=')) return false;
  value = trimmed(value.substr(1));
  const std::string key = in_small_letters(rest.substr(0, key_end));
  if (value.starts_with('"')) {
    const std::size_t close = value.find('"', 1);
    if (close == std::string_view::npos) return false;
    line.settings.emplace_back(key, value.substr(1, close - 1));
    rest = trimmed(value.substr(close + 1));
    return true;
  }
  const std::size_t end = std::min(value.find_first_of(kSpaces), value.size());
  line.settings.emplace_back(key, value.substr(0, end));
  rest = trimmed(value.substr(end));
  return true;
}

}  // namespace

std::optional<std::string_view> SlurmLine::value(std::string_view key) const {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [key](const auto& setting) { return setting.first == key; });
  if (found == settings.rend()) return std::nullopt;
  return found->second;
}

std::optional<SlurmLine> SlurmConf::next() {
  while (lines_.next()) {
    SlurmLine line;
    line.number = lines_.number();
    std::string text(trimmed(without_comment(lines_.text())));
    line.cut = lines_.text().size() == Lines::kMaxLength;
    while (text.ends_with('\\') && lines_.next()) {
      text.pop_back();
      line.cut = line.cut || lines_.text().size() == Lines::kMaxLength;
      text += trimmed(without_comment(lines_.text()));
    }
    std::string_view rest = trimmed(text);
    while (!rest.empty() && take_setting(rest, line)) {
    }
    line.strange = rest.substr(0, std::min(rest.find_first_of(kSpaces), rest.size()));
    if (!line.settings.empty() || !line.strange.empty()) return line;
  }
  return std::nullopt;
}

}  // namespace lockstep::topology
