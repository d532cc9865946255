#include "launcher/run_summary.h"

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace lockstep::launcher {
namespace {

using Json = nlohmann::ordered_json;

Json exit_of(const Outcome& outcome) {
  Json exit = {{"code", outcome.code},
               {"source", to_string(outcome.source)},
               {"rank", nullptr},
               {"host", nullptr}};
  if (outcome.culprit) {
    if (outcome.culprit->rank) exit["rank"] = *outcome.culprit->rank;
    exit["host"] = outcome.culprit->host;
  }
  return exit;
}

Json read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Json::object();
  Json json = Json::parse(file, nullptr, false);
  return json.is_object() ? json : Json::object();
}

}  // namespace

void write_summary(const RunFolder& folder, const RunFacts& facts, const Outcome& outcome) {
  const std::filesystem::path path = folder.path / "summary.json";
  const std::filesystem::path temporary = folder.path / ".summary.json.new";
  Json summary = read(path);
  const Json ours = {{"version", 1},
                     {"name", folder.name},
                     {"run", folder.id},
                     {"status", to_string(outcome.status)},
                     {"exit", exit_of(outcome)},
                     {"world", facts.world},
                     {"started", facts.started},
                     {"ended", facts.ended},
                     {"restarts", 0}};
  for (const auto& [key, value] : ours.items()) {
    const bool is_ending = key == "status" || key == "exit";
    if (!summary.contains(key) || summary[key].is_null() ||
        (is_ending && outcome.status != Status::kDone)) {
      summary[key] = value;
    }
  }
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << summary.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    file.flush();
    if (!file) {
      throw std::system_error(errno, std::generic_category(), "cannot write " + temporary.string());
    }
  }
  std::filesystem::rename(temporary, path);
}

}  // namespace lockstep::launcher
