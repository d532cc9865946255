// What the columns beside a matrix of `nvidia-smi topo` say: near CPUs and memory nodes.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/machine.h"
#include "topology/readers/notes.h"
#include "topology/readers/smi_matrix.h"

namespace lockstep::topology {

// One text a column of `matrix`; empty is unknown: blank or "N/A". Nothing where it is not certain
// which text belongs to which column.
[[nodiscard]] std::optional<std::vector<std::string>> split_smi_tail(const SmiMatrix& matrix,
                                                                     const SmiRow& row);

// Fills cpus, numa and memory_numa of `machine`'s GPUs, which are those of `matrix`, and its NUMA
// nodes. A GPU's node is the one named; of a list, as Grace machines have it, the lowest, since the
// others are GPUs' memory. Without a NUMA column, CPU sets that do not overlap are nodes of their
// own.
void read_smi_affinities(const SmiMatrix& matrix, Machine& machine, Notes& notes);

}  // namespace lockstep::topology
