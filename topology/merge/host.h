// What recordings say of a host as a whole: processor, memory domains, system.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "topology/machine.h"
#include "topology/merge/groups.h"

namespace lockstep::topology::merging {

// Name, sources, cpu, numa and system of `into`. REQUIRES: one part.
void merge_host(Machine& into, const Recordings& recordings);

// A recording that does not know the nodes has one of number -1. Where another one knows them,
// takes that number back.
void forget_unknown_nodes(std::span<Machine> parts);

}  // namespace lockstep::topology::merging
