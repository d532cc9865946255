// Where the planned arenas of a worker lie.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "engine/device/visibility.h"

namespace lockstep::engine {

// Who else touches an arena. A communicator places the arenas accordingly, so that its collectives
// work in place.
enum class Sharing {
  own,        // this rank alone
  exchanged,  // one copy a rank, which the peers read and write during collectives (gradients)
  host,       // one copy for all ranks of a host (parameters, optimizer state)
};

// Hands out arenas at start-up; nothing is allocated later.
//
// Thread rule: one thread. With more than one rank, allocate() is collective: all ranks call it in
// the same order with the same size and sharing. The memory lives as long as the source, begins at
// a page boundary and is zero.
class LOCKSTEP_API MemorySource {
 public:
  virtual ~MemorySource() = default;

  // `name` appears in messages ("gradients"). Throws std::bad_alloc or the source's own error.
  [[nodiscard]] virtual std::span<std::byte> allocate(std::string_view name, std::size_t bytes,
                                                      Sharing sharing) = 0;
};

// Ordinary memory of this process, for a worker that is alone.
class LOCKSTEP_API HeapMemory final : public MemorySource {
 public:
  HeapMemory();
  ~HeapMemory() override;
  [[nodiscard]] std::span<std::byte> allocate(std::string_view name, std::size_t bytes,
                                              Sharing sharing) override;

 private:
  struct Blocks;
  std::unique_ptr<Blocks> blocks_;
};

}  // namespace lockstep::engine
