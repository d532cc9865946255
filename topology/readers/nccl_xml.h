// Reads NCCL's topology XML: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE gives.
//
// Files may be whole dumps or parts of one (cloud providers give only `cpu` and `pci`), and may
// have RCCL's additions (`xgmi`, `gcn`). Devices stand in the file's order. Findings: what is wrong
// in the file and would mislead NCCL. Of a dump of several hosts the first one is read. Source of
// the schema: NCCL 2.28 graph/xml.cc, RCCL's. Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_nccl_xml(std::string_view text);

// Errors: ReadError where there is no `system` with a `cpu` in it, or more elements than any
// machine has. A file that breaks off is read as far as it goes, with a finding.
[[nodiscard]] Reading read_nccl_xml(const Recording& recording);

}  // namespace lockstep::topology
