// The machine that an NCCL topology describes, built from its elements.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <vector>

#include "topology/readers/nccl_xml_links.h"
#include "topology/readers/notes.h"
#include "topology/readers/reading.h"

namespace lockstep::topology {

class NcclXmlMachine {
 public:
  // `recording` must outlive this.
  explicit NcclXmlMachine(const Recording& recording);

  // Reads `system` and all that is in it, once. Elements nested deeper than PCI is, and devices
  // beyond what a host has, are left out with a finding.
  void read(pugi::xml_node system);

  void note(Finding finding) { notes_.add(std::move(finding)); }

  [[nodiscard]] Machine take() &&;

 private:
  void read_cpu(pugi::xml_node cpu);
  void read_processor(pugi::xml_node cpu, int numa);
  void read_mask(pugi::xml_node cpu, NumaNode& node);
  void read_pci(pugi::xml_node pci, DeviceId parent, int depth);
  void read_gpu(pugi::xml_node pci, DeviceId parent);
  void read_nics(pugi::xml_node holder, const PciDevice& pci, DeviceId parent);
  void add_nic(pugi::xml_node net, const PciDevice& pci, DeviceId parent);
  [[nodiscard]] bool has_room(std::size_t count, std::size_t most, pugi::xml_node element);
  void note_speed(pugi::xml_node pci, const PciDevice& device);
  void note_kindless();
  void add_finding(pugi::xml_node element, Finding finding);
  [[nodiscard]] int line_of(pugi::xml_node element);

  const Recording& recording_;
  Machine machine_;
  Notes notes_;
  NcclXmlLinks links_;
  int numa_ = 0;                               // of the cpu that is being read
  std::vector<std::string> kindless_;          // addresses of devices without a class
  std::map<std::string, int> unknown_speeds_;  // how often each text
  std::size_t noted_ = 0;
  std::ptrdiff_t counted_to_ = 0;  // lines are counted up to this offset
  int line_ = 1;
};

}  // namespace lockstep::topology
