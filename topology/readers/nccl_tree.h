// The machine that a topology dump of NCCL describes.
//
// Thread rule: pure functions.
#pragma once

#include <vector>

#include "topology/machine.h"
#include "topology/readers/nccl_context.h"
#include "topology/readers/nccl_dump.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {

// `lines` of one dump, in order. A line hangs off the last one above it whose node begins where its
// "+" stands; a line without such a parent is read as far as it stands alone, with a finding.
// Cost: O(lines log lines).
[[nodiscard]] Machine read_nccl_tree(const std::vector<NcclLine>& lines, const NcclContext& context,
                                     Notes& notes);

}  // namespace lockstep::topology
