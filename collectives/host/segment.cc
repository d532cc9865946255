#include "collectives/host/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "collectives/communicator.h"

namespace lockstep::collectives::host {
namespace {

[[noreturn]] void fail(std::string_view what, std::size_t bytes, int error) {
  throw CollectiveError(
      fmt::format("shared memory of {} bytes: {} failed: {}; free memory on this "
                  "host, raise its limit, or start fewer workers",
                  bytes, what, std::strerror(error)));
}

std::shared_ptr<Segment> map(Descriptor descriptor, std::size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (address == MAP_FAILED) fail("mmap", bytes, errno);
  auto segment = std::make_shared<Segment>(std::span(static_cast<std::byte*>(address), bytes),
                                           std::move(descriptor));
  ::madvise(address, bytes, MADV_HUGEPAGE);
  return segment;
}

}  // namespace

Segment::Segment(std::span<std::byte> memory, Descriptor descriptor)
    : memory_(memory), descriptor_(std::move(descriptor)) {}

Segment::~Segment() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

std::shared_ptr<Segment> Segment::in_process(std::size_t bytes) {
  if (bytes == 0) return std::make_shared<Segment>(std::span<std::byte>(), Descriptor());
  void* address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  auto segment =
      std::make_shared<Segment>(std::span(static_cast<std::byte*>(address), bytes), Descriptor());
  ::madvise(address, bytes, MADV_HUGEPAGE);
  return segment;
}

std::shared_ptr<Segment> Segment::shared(std::string_view name, std::size_t bytes) {
  if (bytes == 0) return in_process(0);
  const std::string label = fmt::format("lockstep:{}", name.substr(0, 200));
  Descriptor descriptor(::memfd_create(label.c_str(), MFD_CLOEXEC));
  if (!descriptor) fail("memfd_create", bytes, errno);
  if (::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0)
    fail("ftruncate", bytes, errno);
  if (::fallocate(descriptor.get(), 0, 0, static_cast<off_t>(bytes)) != 0)
    fail("fallocate", bytes, errno);
  return map(std::move(descriptor), bytes);
}

std::shared_ptr<Segment> Segment::mapped(Descriptor descriptor, std::size_t bytes) {
  if (bytes == 0) return in_process(0);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) fail("fstat", bytes, errno);
  if (static_cast<std::size_t>(status.st_size) < bytes) {
    throw CollectiveError(
        fmt::format("a segment of shared memory has {} bytes, expected {}", status.st_size, bytes));
  }
  return map(std::move(descriptor), bytes);
}

}  // namespace lockstep::collectives::host
