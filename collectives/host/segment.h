// A piece of memory that ranks share, or that stands for one where a rank is alone.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "collectives/rendezvous/descriptor.h"

namespace lockstep::collectives::host {

using rendezvous::Descriptor;

// Zeroed, begins at a page boundary, unmapped with its last owner. It has no name in any file
// system, so nothing can be left behind.
class Segment {
 public:
  // Memory of this process alone. Errors: std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<Segment> in_process(std::size_t bytes);

  // A new memfd that others can map; `name` shows in /proc/PID/maps. Its pages are taken here, so
  // that they lie near the caller and a lack of memory shows now; they enter a process's own
  // account when it touches them, and a rank does not touch what belongs to others alone. Errors:
  // CollectiveError naming it.
  [[nodiscard]] static std::shared_ptr<Segment> shared(std::string_view name, std::size_t bytes);

  // The segment behind a descriptor received from another rank. Errors: CollectiveError.
  [[nodiscard]] static std::shared_ptr<Segment> mapped(Descriptor descriptor, std::size_t bytes);

  Segment(std::span<std::byte> memory, Descriptor descriptor);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // When everybody has it: the mapping stays.
  void close_descriptor() { descriptor_ = Descriptor(); }

 private:
  std::span<std::byte> memory_;
  Descriptor descriptor_;
};

}  // namespace lockstep::collectives::host
