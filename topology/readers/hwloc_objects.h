// The objects of an hwloc XML file, as a flat list with parents.
//
// Versions 1 to 3 and later minor ones differ in where things stand, not in what they are called;
// the questions asked here have one answer for all of them. Objects nested deeper than kDeepest are
// left out (a real file has some 30 levels). Thread rule: a value, not copyable.
#pragma once

#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "topology/cpu_set.h"
#include "topology/pci_address.h"
#include "topology/readers/reading.h"

namespace lockstep::topology {

struct HwlocObject {
  static constexpr int kNone = -1;

  std::string_view type;  // "Package", "PCIDev", ...
  pugi::xml_node node;
  int parent = kNone;
  std::optional<PciAddress> address;  // of bridges and PCI devices

  [[nodiscard]] std::string_view attribute(const char* name) const;
  [[nodiscard]] std::string info(const char* name) const;           // empty where it is not there
  [[nodiscard]] std::optional<CpuSet> set(const char* name) const;  // "cpuset", "nodeset"
  [[nodiscard]] bool is_io() const;
};

enum class OsDeviceKind { network, rdma, gpu, other };

class HwlocFile {
 public:
  static constexpr int kDeepest = 128;

  // Errors: ReadError for what is no XML or has no topology with objects.
  explicit HwlocFile(const Recording& recording);

  [[nodiscard]] const std::vector<HwlocObject>& objects() const { return objects_; }
  [[nodiscard]] pugi::xml_node topology() const { return topology_; }
  [[nodiscard]] bool is_truncated() const { return truncated_; }  // too deep, or cut off

  // Version 3 has kinds as bits, those before it as numbers.
  [[nodiscard]] OsDeviceKind os_device_kind(const HwlocObject& object) const;

  // The nearest object above that passes, or kNone.
  [[nodiscard]] int above(int index, bool (*passes)(const HwlocObject&)) const;

  // An info of the first object that has it, objects of `type` first, then any, then the topology.
  [[nodiscard]] std::string info(std::string_view type, const char* name) const;

 private:
  pugi::xml_document document_;
  pugi::xml_node topology_;
  std::vector<HwlocObject> objects_;  // a parent before its children, in the file's order
  bool bits_ = false;
  bool truncated_ = false;
};

// "0x0000ffff,,0xff000000", as hwloc prints sets: words of 32 bits, an empty one being zero.
[[nodiscard]] std::optional<CpuSet> parse_hwloc_set(std::string_view text);

}  // namespace lockstep::topology
