// The memory handed out to the caller, and where in it a buffer lies.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/host/meeting.h"
#include "engine/device/memory.h"

namespace lockstep::collectives::host {

// Thread rule: one thread.
class Arenas {
 public:
  Arenas(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  // As MemorySource::allocate; Sharing::own takes no part of the other ranks and is not compared
  // with theirs.
  [[nodiscard]] std::span<std::byte> allocate(std::string_view name, std::size_t bytes,
                                              engine::Sharing sharing);

  struct Location {
    std::size_t arena = 0;
    std::size_t offset = 0;  // bytes
    engine::Sharing sharing = engine::Sharing::own;
  };
  // Nothing for memory that the peers cannot reach. Errors: CollectiveError for a buffer that
  // begins within an arena and ends outside.
  [[nodiscard]] std::optional<Location> find(const void* data, std::size_t bytes) const;

  // Where `rank`'s copy of a place lies in this process.
  [[nodiscard]] std::byte* address(std::size_t arena, int rank, std::size_t offset) const {
    const Segments& segments = arenas_[arena].segments;
    return segments[segments.size() == 1 ? 0 : static_cast<std::size_t>(rank)]->data() + offset;
  }

 private:
  struct Arena {
    std::string name;
    engine::Sharing sharing;
    Segments segments;
  };
  Meeting& meeting_;
  int rank_;
  std::vector<Arena> arenas_;
  Segments own_;
};

}  // namespace lockstep::collectives::host
