#include "topology/probe/nccl_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace lockstep::topology {
namespace {

constexpr std::size_t kLongest = 1023;
constexpr std::size_t kLongestFile = std::size_t{1} << 20;

bool add_file(const FileTree& tree, const std::string& path, std::vector<Setting>& settings) {
  const FileText file = tree.read(path, kLongestFile);
  auto found = parse_nccl_conf(file.text, path);
  std::ranges::move(found, std::back_inserter(settings));
  return file.status == FileStatus::read;
}

}  // namespace

bool concerns_nccl(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("FI_") || name == "CUDA_VISIBLE_DEVICES" ||
         name == "CUDA_DEVICE_ORDER";
}

std::vector<Setting> parse_nccl_conf(std::string_view text, std::string_view origin) {
  std::vector<Setting> settings;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = line.substr(0, line.find('\0'));  // NCCL's lines are C strings
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos) continue;
    settings.push_back({.variable = std::string(line.substr(0, std::min(equals, kLongest))),
                        .value = std::string(line.substr(equals + 1).substr(0, kLongest)),
                        .origin = std::string(origin)});
  }
  return settings;
}

void read_nccl_settings(const FileTree& tree, const Environment& environment,
                        const std::string& home, Machine& machine) {
  std::vector<Setting>& settings = machine.system.settings;
  for (const auto& [name, value] : environment) {
    if (concerns_nccl(name))
      settings.push_back({.variable = name, .value = value, .origin = "environment"});
  }
  const auto named = environment.find("NCCL_CONF_FILE");
  if (named != environment.end() && !named->second.empty()) {
    if (!add_file(tree, named->second, settings)) {
      machine.findings.push_back(
          {.severity = Severity::warning,
           .code = "conf-file-missing",
           .message =
               fmt::format("NCCL_CONF_FILE names {}, which could not be read; NCCL then reads "
                           "no user's file at all",
                           named->second),
           .where = named->second,
           .remedy = "correct NCCL_CONF_FILE ('~' is not expanded) or unset it"});
    }
  } else if (!home.empty()) {
    add_file(tree, home + "/.nccl.conf", settings);
  }
  add_file(tree, "/etc/nccl.conf", settings);
}

}  // namespace lockstep::topology
