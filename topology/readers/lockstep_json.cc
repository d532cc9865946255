#include "topology/readers/lockstep_json.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "topology/json.h"

namespace lockstep::topology {

bool is_lockstep_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"version\"") != std::string_view::npos &&
         text.find("\"hosts\"") != std::string_view::npos;
}

Reading read_lockstep_json(const Recording& recording) {
  Cluster cluster = cluster_from_json(recording);
  if (cluster.hosts.size() > 1) {
    throw ReadError(recording.name, 0,
                    fmt::format("expected the JSON of one host, found {} hosts; give each host's "
                                "own",
                                cluster.hosts.size()));
  }
  if (cluster.hosts.empty() && !cluster.fabric)
    throw ReadError(recording.name, 0, "expected a host or a fabric, found neither");
  Reading reading;
  if (!cluster.hosts.empty()) reading.machine = std::move(cluster.hosts.front());
  for (Finding& finding : cluster.findings) reading.machine.findings.push_back(std::move(finding));
  reading.fabric = std::move(cluster.fabric);
  return reading;
}

}  // namespace lockstep::topology
