#include "launcher/hosts/allocation.h"

#include <fmt/format.h>

#include <utility>

#include "launcher/hosts/batch_files.h"
#include "launcher/hosts/host_filter.h"
#include "launcher/hosts/host_flag.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/located_text.h"
#include "launcher/hosts/slurm.h"

namespace lockstep::launcher {
namespace {

Allocation from_flag(const std::string& value) {
  return {.source = "--hosts",
          .origin = Allocation::Origin::kFlag,
          .start = Allocation::Start::kSsh,
          .hosts = read_host_flag({LocatedText::Kind::kValue, "--hosts", value}),
          .job_id = {},
          .end_time = std::nullopt,
          .notes = {}};
}

Allocation from_hostfile(const HostRequest& request, const FileReader& read) {
  const std::string& path = *request.hostfile;
  if (path.empty()) throw AllocationError("--hostfile: expected the path of a file, found nothing");
  const std::string text = read(path, fmt::format("--hostfile {}", path));
  HostfileReading reading = read_hostfile({LocatedText::Kind::kFile, path, text}, request.format);
  return {.source = fmt::format("hostfile {}", path),
          .origin = Allocation::Origin::kHostfile,
          .start = Allocation::Start::kSsh,
          .hosts = std::move(reading.hosts),
          .job_id = {},
          .end_time = std::nullopt,
          .notes = std::move(reading.notes)};
}

// Whose hosts apply, first of all Slurm's, with a note that names each other one.
std::optional<Allocation> from_batch_system(const Environment& environment,
                                            const FileReader& read) {
  std::optional<Allocation> found = slurm_allocation(environment);
  std::string_view taken = found ? "Slurm" : "";
  for (const BatchSystem& system : batch_systems()) {
    const auto variable = environment.find(system.variable);
    if (variable == environment.end() || variable->second.empty() || system.name == taken) continue;
    if (!found) {
      found = batch_allocation(system, environment, read);
      taken = system.name;
    } else {
      found->notes.push_back(
          fmt::format("hosts are those of {}; {}'s {} is set too (--hostfile chooses a file)",
                      found->source, system.name, system.variable));
    }
  }
  return found;
}

Allocation first_source(const HostRequest& request, const Environment& environment,
                        const FileReader& read) {
  if (request.hosts && request.hostfile)
    throw AllocationError("--hosts and --hostfile do not go together: give one of them");
  if (request.hosts) return from_flag(*request.hosts);
  if (request.hostfile) return from_hostfile(request, read);
  if (auto found = from_batch_system(environment, read)) return *std::move(found);
  AllocatedHost here;
  here.name = request.this_host;
  here.where = "this machine";
  return {.source = "this machine",
          .origin = Allocation::Origin::kThisMachine,
          .start = Allocation::Start::kLocal,
          .hosts = {std::move(here)},
          .job_id = {},
          .end_time = std::nullopt,
          .notes = {}};
}

}  // namespace

Allocation find_hosts(const HostRequest& request, const Environment& environment,
                      const FileReader& read) {
  if (request.include && request.exclude)
    throw AllocationError("--include and --exclude do not go together: give one of them");
  if (request.format != HostfileFormat::kByContent && !request.hostfile)
    throw AllocationError("--hostfile-format says how --hostfile is read, which is not given");
  Allocation allocation = first_source(request, environment, read);
  if (request.include) apply_filter(allocation, Filter::kInclude, *request.include);
  if (request.exclude) apply_filter(allocation, Filter::kExclude, *request.exclude);
  return allocation;
}

}  // namespace lockstep::launcher
