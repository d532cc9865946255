// The links of GPUs in an NCCL topology, which name their other end by its PCI address.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <utility>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

class NcclXmlLinks {
 public:
  // Of the `nvlink`, `xgmi` and `c2c` elements in `gpu`, a GPU of the NUMA node `numa`.
  void add(pugi::xml_node gpu, int index, int numa);
  // Of the `pcilink` elements in `pci`: a switch that talks directly to another one.
  void add_peers(pugi::xml_node pci, int index);

  // Ties the ends together once all devices are read: adds links to `machine`, and NVSwitches that
  // stand nowhere in the PCI tree. What cannot be tied is returned: an element and what is wrong
  // with it.
  struct Problem {
    pugi::xml_node element;
    Finding finding;
  };
  [[nodiscard]] std::vector<Problem> resolve(Machine& machine);

 private:
  struct Stated {
    pugi::xml_node element;
    DeviceId from;
    int numa = 0;
  };
  // Counted from either end: both ends state a link between GPUs.
  struct Both {
    LinkKind kind = LinkKind::nvlink;
    int forth = 0, back = 0;
    pugi::xml_node element;
  };

  void resolve_gpu_link(const Stated& stated, Machine& machine);
  void resolve_peer(const Stated& stated, Machine& machine);
  [[nodiscard]] std::optional<DeviceId> other_end(const Stated& stated, Machine& machine);
  [[nodiscard]] DeviceId nvswitch_of(const std::string& target, Machine& machine);

  std::vector<Stated> stated_;
  std::map<PciAddress, DeviceId> devices_;
  std::map<std::string, int> nvswitches_;  // by address as written
  std::map<std::pair<DeviceId, DeviceId>, Both> counts_;
  std::vector<Problem> problems_;
};

}  // namespace lockstep::topology
