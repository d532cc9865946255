#include "topology/probe/nccl_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "topology/nccl_conf.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kLongestFile = std::size_t{1} << 20;

bool add_file(const FileTree& tree, const std::string& path, Machine& machine) {
  const FileText file = tree.read(path, kLongestFile);
  NcclConf found = parse_nccl_conf(file.text, path);
  std::ranges::move(found.settings, std::back_inserter(machine.system.settings));
  std::ranges::move(found.findings, std::back_inserter(machine.findings));
  return file.status == FileStatus::read;
}

}  // namespace

void read_nccl_settings(const FileTree& tree, const Environment& environment,
                        const std::string& home, Machine& machine) {
  for (const auto& [name, value] : environment) {
    if (concerns_nccl(name)) {
      machine.system.settings.push_back(
          {.variable = name, .value = value, .origin = "environment"});
    }
  }
  const auto named = environment.find("NCCL_CONF_FILE");
  if (named != environment.end() && !named->second.empty()) {
    if (!add_file(tree, named->second, machine)) {
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
    add_file(tree, home + "/.nccl.conf", machine);
  }
  add_file(tree, "/etc/nccl.conf", machine);
}

}  // namespace lockstep::topology
