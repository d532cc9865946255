// The ports that a recording of RDMA devices names, and the walk through one that describes a
// device and then its ports.
//
// Tools list devices in the order of a directory, which says nothing; the list is in natural order.
// Thread rule: one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/devices.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {

// A port's GID table: adapters have 256 entries; what names more is damage.
inline constexpr int kMaxGidIndex = 1023;

// Adds an entry to the port's table; false where it is full, or has no entry of that index.
[[nodiscard]] bool add_gid(Nic& port, Gid gid);

class PortList {
 public:
  // No host has as many; what names more is damage, and its rest is left out with a finding.
  static constexpr std::size_t kMaxPorts = 4096;

  // The port of that device; made, as a copy of `device` with that number, where it is not there
  // yet. 0: the device itself, of which no port is named. The reference lives until the next call.
  [[nodiscard]] Nic& at(const Nic& device, int port);

  [[nodiscard]] bool contains(std::string_view device, int port) const;

  // The ports by device and number, in natural order.
  [[nodiscard]] std::vector<Nic> take(Notes& notes);

 private:
  using Key = std::pair<std::string, int>;
  struct NaturalOrder {
    bool operator()(const Key& a, const Key& b) const;
  };

  std::map<Key, Nic, NaturalOrder> ports_;
  Nic left_out_;  // takes what is said of ports beyond the limit
  std::size_t left_out_count_ = 0;
};

// Collects "device, its attributes, port, the port's attributes, port, ..., device, ...".
class DeviceWalk {
 public:
  explicit DeviceWalk(Notes& notes) : notes_(notes) {}

  // A device begins on that line of the file; the one before is complete.
  void begin_device(std::string_view name, int line);
  // The device says how many ports it has.
  void announce(std::string_view ports);
  void begin_port(std::string_view number, int line);

  [[nodiscard]] bool in_device() const { return in_device_; }
  // What attributes are of: the port, or the device where none of its ports has begun.
  [[nodiscard]] Nic& current();

  // All ports. A device without any is in it as one without a number; fewer ports than announced
  // are noted.
  [[nodiscard]] std::vector<Nic> take();

 private:
  void end_device();

  Notes& notes_;
  PortList ports_;
  Nic device_;
  int line_ = 0;       // where the device begins
  int announced_ = 0;  // 0: it does not say
  int seen_ = 0;
  bool in_device_ = false;
  Nic* port_ = nullptr;
  Nic repeated_;  // takes what is said a second time of a port
};

}  // namespace lockstep::topology
