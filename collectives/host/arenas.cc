#include "collectives/host/arenas.h"

#include <fmt/format.h>

#include "collectives/communicator.h"

namespace lockstep::collectives::host {

std::span<std::byte> Arenas::allocate(std::string_view name, std::size_t bytes,
                                      engine::Sharing sharing) {
  if (sharing == engine::Sharing::own) {
    own_.push_back(Segment::in_process(bytes));
    return {own_.back()->data(), bytes};
  }
  arenas_.push_back(
      {std::string(name), sharing, meeting_.exchange({std::string(name), bytes, sharing})});
  return {address(arenas_.size() - 1, rank_, 0), bytes};
}

std::optional<Arenas::Location> Arenas::find(const void* data, std::size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(data);
  for (std::size_t a = 0; a < arenas_.size(); ++a) {
    const std::byte* arena = address(a, rank_, 0);
    const std::size_t size = arenas_[a].segments[0]->size();
    if (begin < arena || begin >= arena + size) continue;
    const auto offset = static_cast<std::size_t>(begin - arena);
    if (bytes > size - offset) {
      throw CollectiveError(
          fmt::format("a buffer of {} bytes at offset {} does not fit into arena {} of {} bytes",
                      bytes, offset, arenas_[a].name, size));
    }
    return Location{a, offset, arenas_[a].sharing};
  }
  return std::nullopt;
}

}  // namespace lockstep::collectives::host
