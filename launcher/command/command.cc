#include "launcher/command/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "runtime/nearest.h"

namespace lockstep::launcher {
namespace {

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

std::string explain(const CLI::App& app, const std::string& extra) {
  if (!extra.starts_with('-')) return fmt::format("unexpected argument '{}'", extra);
  const std::string flag = extra.substr(0, extra.find('='));
  const std::vector<std::string> flags = flags_of(app);
  const auto other = meant_by(flag, {flags.begin(), flags.end()});
  return other ? fmt::format("unknown flag '{}'; did you mean '{}'?", flag, *other)
               : fmt::format("unknown flag '{}'", flag);
}

}  // namespace

std::optional<std::string_view> meant_by(std::string_view word,
                                         const std::vector<std::string_view>& names) {
  constexpr std::size_t kFewestLetters = 2;
  std::optional<std::string_view> begun;
  if (word.size() - std::min(word.find_first_not_of('-'), word.size()) >= kFewestLetters) {
    for (const std::string_view name : names) {
      if (name.starts_with(word) && (!begun || name.size() < begun->size())) begun = name;
    }
  }
  return begun ? begun : runtime::nearest(word, names);
}

std::optional<int> parse_command_line(CLI::App& app, std::vector<std::string> args) {
  std::ranges::reverse(args);  // as CLI11 wants them
  std::string problem;
  try {
    app.parse(std::move(args));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app.remaining();
    const auto flag =
        std::ranges::find_if(extras, [](const auto& e) { return e.starts_with('-'); });
    problem = explain(app, flag != extras.end() ? *flag : extras.front());
  } catch (const CLI::ParseError& error) {
    problem = error.what();
  }
  throw UsageError(fmt::format("{}\n  `{} --help` shows what there is", problem, app.get_name()));
}

}  // namespace lockstep::launcher
