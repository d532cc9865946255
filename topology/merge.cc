#include "topology/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "topology/merge/devices.h"
#include "topology/merge/groups.h"
#include "topology/merge/host.h"
#include "topology/merge/interfaces.h"
#include "topology/merge/nics.h"
#include "topology/merge/pairs.h"

namespace lockstep::topology {
namespace {

// "nvidia-smi-topo", "ibstat and ip-brief"; by its number what has no name, and what has another's.
std::vector<std::string> sources_of(const std::vector<Machine>& parts) {
  std::vector<std::string> all;
  for (const Machine& part : parts) {
    std::string joined;
    for (const std::string& source : part.sources)
      joined += (joined.empty() ? "" : " and ") + source;
    const std::string number = fmt::format("recording {}", all.size() + 1);
    if (joined.empty()) joined = number;
    if (std::ranges::find(all, joined) != all.end()) joined += fmt::format(" ({})", number);
    all.push_back(std::move(joined));
  }
  return all;
}

// Those of reading, each once, in the ids of the merged machine.
void take_findings(Machine& into, const merging::Recordings& recordings,
                   const merging::Groupings& groupings) {
  std::vector<Finding> read;
  for (std::size_t part = 0; part < recordings.parts.size(); ++part) {
    for (Finding finding : recordings.parts[part].findings) {
      if (const auto id = parse_device_id(finding.where)) {
        if (const auto place = groupings.place_of(part, *id)) finding.where = to_string(*place);
      }
      if (std::ranges::find(read, finding) == read.end()) read.push_back(std::move(finding));
    }
  }
  into.findings.insert(into.findings.begin(), std::make_move_iterator(read.begin()),
                       std::make_move_iterator(read.end()));
}

}  // namespace

Machine merge(std::vector<Machine> parts) {
  Machine merged;
  if (parts.empty()) return merged;
  merging::forget_unknown_nodes(parts);
  const std::vector<std::string> sources = sources_of(parts);
  const merging::Recordings recordings{parts, sources};
  const merging::Groupings groupings = merging::group_devices(parts);

  merging::merge_host(merged, recordings);
  merged.gpus = merging::merge_gpus(recordings, groupings.gpus, merged.findings);
  merged.switches = merging::merge_switches(recordings, groupings.switches, &Machine::switches);
  merged.nvswitches =
      merging::merge_switches(recordings, groupings.nvswitches, &Machine::nvswitches);
  auto [nics, members] = merging::merge_nics(recordings, groupings.nics, merged.findings);
  merged.nics = std::move(nics);
  merged.interfaces = merging::merge_interfaces(recordings, merged.findings);
  merging::merge_pairs(merged, recordings, groupings);
  merging::join_ports(merged);
  merging::join_interfaces(merged, members);
  take_findings(merged, recordings, groupings);
  return merged;
}

}  // namespace lockstep::topology
