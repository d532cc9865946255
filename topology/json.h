// Hosts and the fabric between them as JSON, and back: what `lockstep probe --format json` prints.
//
// The keys of CONTRACTS.md, version 1, and more, so that what is read back is the same Machine in
// all its fields. `paths`, ids, `nvlinks`, `link_GBps` and `source` are written for other programs
// and follow from the rest; reading passes over them, and over keys that it does not know. What is
// unknown is null. Text that is not UTF-8 is written with U+FFFD in the place of each such byte.
//
// Thread rule: pure functions. Cost: linear in hosts, devices and paths.
#pragma once

#include <span>
#include <string>

#include "topology/cluster.h"
#include "topology/paths.h"
#include "topology/readers/reading.h"

namespace lockstep::topology {

// What a cluster's JSON says beside the cluster itself.
struct JsonExtras {
  std::span<const PathTable> paths = {};  // of each host, in their order; or none at all
  // `--gpus N`: the GPUs of the first host that talk to each other best.
  std::span<const DeviceId> placement = {};
  // What that choice could not take into account (topology/placement.h); empty: written as null.
  std::string placement_caveat = {};
};

// The findings of the hosts stand among the cluster's, each with the position of its host.
// REQUIRES: as many tables as hosts, or none.
[[nodiscard]] std::string to_json(const Cluster& cluster, const JsonExtras& extras = {});

// Errors: ReadError, with the file and the line of what is not JSON or the path of what is not as
// expected ("hosts[3].gpus[0].numa"). Nesting deeper than 32, more than 65,536 hosts or elements of
// a list, numbers out of range and links to devices that are not there are refused.
[[nodiscard]] Cluster cluster_from_json(const Recording& recording);

}  // namespace lockstep::topology
