// Writes a machine as NCCL's topology XML, for NCCL_TOPO_FILE.
//
// The schema is that of NCCL 2.28 (graph/xml.cc); what is written reads back as the same devices
// and links. Thread rule: pure functions.
#pragma once

#include <string>

#include "topology/machine.h"

namespace lockstep::topology {

enum class NcclXmlForm {
  full,  // everything that is known, as NCCL dumps it
  // Only `cpu` and `pci`, as cloud providers give it: switches become ffff:ff:NN.0, and every link
  // is Gen5 x16, for what a hypervisor claims of them is not true. NCCL probes the rest.
  virtual_machine
};

// Devices without a PCI address are left out of the form for virtual machines; devices that hang
// off nothing stand in a cpu of numaid -1, as NCCL has it. Of several ways up the first one counts.
// Errors: std::invalid_argument where the machine has neither NUMA nodes nor devices, as one of
// which only settings were read.
[[nodiscard]] std::string write_nccl_xml(const Machine& machine, NcclXmlForm form);

}  // namespace lockstep::topology
