// Hosts while they are read one by one, and what happens where one is named again.
//
// Thread rule: one thread. Cost: constant a host. Errors: AllocationError, with both places, and
// where there are more than kMostHosts hosts or kMostSlots slots on one.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/located_text.h"

namespace lockstep::launcher {

class HostCollection {
 public:
  explicit HostCollection(const LocatedText& text) : text_(text) {}

  // A host that must not have been named before; `remedy` ends the message.
  void add_new(AllocatedHost host, Place place, std::string_view remedy);

  // A host named once more has those slots in addition. REQUIRES: host.slots is stated.
  void add_slots(AllocatedHost host, Place place);

  // A line without a number. Where no host has two of them they state nothing; else each is a slot.
  void add_line(AllocatedHost host, Place place);
  void count_lines() { lines_count_ = true; }  // each is a slot in any case

  // All of them, in the order of their first mention. Errors: where there is none.
  [[nodiscard]] std::vector<AllocatedHost> take();

 private:
  struct Entry {
    AllocatedHost host;
    std::uint32_t lines = 0;  // those without a number
  };

  Entry* find(const AllocatedHost& host, Place place);
  Entry& insert(AllocatedHost host, Place place);
  void check(std::uint64_t slots, const AllocatedHost& host, Place place) const;

  const LocatedText& text_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  bool lines_count_ = false;
};

}  // namespace lockstep::launcher
