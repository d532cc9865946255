#include "engine/device/memory.h"

#include <sys/mman.h>

#include <new>
#include <utility>
#include <vector>

namespace lockstep::engine {

struct HeapMemory::Blocks {
  std::vector<std::pair<void*, std::size_t>> mapped;
  ~Blocks() {
    for (auto [address, bytes] : mapped) ::munmap(address, bytes);
  }
};

HeapMemory::HeapMemory() : blocks_(std::make_unique<Blocks>()) {}
HeapMemory::~HeapMemory() = default;

std::span<std::byte> HeapMemory::allocate(std::string_view, std::size_t bytes, Sharing) {
  if (bytes == 0) return {};
  void* address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  blocks_->mapped.emplace_back(address, bytes);
  return {static_cast<std::byte*>(address), bytes};
}

}  // namespace lockstep::engine
