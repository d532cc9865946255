// How far advice can be trusted that stands on recordings which may not belong together.
//
// Thread rule: a pure function.
#pragma once

#include <vector>

#include "topology/advice/advice.h"
#include "topology/machine.h"

namespace lockstep::topology {

// Where the machine's recordings are of different hosts (topology/merge.h) no advice has more than
// low confidence; where one of them lacks adapters of another, NCCL_IB_HCA has one step less. What
// is doubted has the reason among its evidence.
void doubt(const Machine& machine, std::vector<Advice>& advice);

}  // namespace lockstep::topology
