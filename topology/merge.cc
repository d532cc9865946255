#include "topology/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/merge/devices.h"
#include "topology/merge/groups.h"
#include "topology/merge/host.h"
#include "topology/merge/interfaces.h"
#include "topology/merge/nics.h"
#include "topology/merge/pairs.h"
#include "topology/merge/strangers.h"

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

// Where it is in the merged machine; what names no devices ("SW0, SW4") stays as it is.
std::string place_of(const std::string& where, std::size_t part,
                     const merging::Groupings& groupings) {
  constexpr std::string_view kBetween = ", ";
  std::string places;
  for (std::string_view left = where; !left.empty();) {
    const std::size_t end = std::min(left.find(kBetween), left.size());
    const auto id = parse_device_id(left.substr(0, end));
    const auto place = id ? groupings.place_of(part, *id) : std::nullopt;
    if (!place) return where;
    places += fmt::format("{}{}", places.empty() ? "" : kBetween, to_string(*place));
    left.remove_prefix(std::min(end + kBetween.size(), left.size()));
  }
  return places;
}

// Those of reading, each once, in the ids of the merged machine.
void take_findings(Machine& into, const merging::Recordings& recordings,
                   const merging::Groupings& groupings) {
  std::vector<Finding> read;
  for (std::size_t part = 0; part < recordings.parts.size(); ++part) {
    for (Finding finding : recordings.parts[part].findings) {
      finding.where = place_of(finding.where, part, groupings);
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
  std::ranges::move(merging::strangers(recordings, groupings.nics),
                    std::back_inserter(merged.findings));
  merged.interfaces = merging::merge_interfaces(recordings, merged.findings);
  merging::merge_pairs(merged, recordings, groupings);
  merging::join_ports(merged);
  merging::join_interfaces(merged, members);
  take_findings(merged, recordings, groupings);
  return merged;
}

}  // namespace lockstep::topology
