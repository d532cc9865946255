#include "runtime/metrics/summary_file.h"

#include <fstream>

namespace lockstep::runtime::metrics {
namespace {

using Json = nlohmann::ordered_json;

Json read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Json::object();
  Json content = Json::parse(file, nullptr, false);
  return content.is_object() ? content : Json::object();
}

}  // namespace

void complete_summary(const RunFolder& folder, const Summary& known) {
  Json summary = read(folder.path() / "summary.json");
  const bool ended_badly = known.status && *known.status != RunStatus::done;
  const Json ours = to_json(known);
  for (const auto& [key, value] : ours.items()) {
    const bool overruled = ended_badly && (key == "status" || key == "exit");
    if (overruled || !summary.contains(key) || summary[key].is_null()) summary[key] = value;
  }
  // A host's name may be any bytes.
  folder.write("summary.json", summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace lockstep::runtime::metrics
