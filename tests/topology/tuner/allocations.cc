#include "tests/topology/tuner/allocations.h"

#include <cstddef>

namespace {

thread_local long count = 0;

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*,
                                                                  std::size_t),
                                                         void (*)(const volatile void*));

namespace lockstep::topology::test {

long allocations_of_this_thread() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t) { ++count; }, [](const volatile void*) {});
  return installed != 0 ? count : -1;
}

}  // namespace lockstep::topology::test

#else

// The program's own definitions take precedence over the C library's in every library it loads.
#pragma GCC visibility push(default)
extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t number, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  ++count;
  return __libc_malloc(bytes);
}

void* calloc(std::size_t number, std::size_t bytes) {
  ++count;
  return __libc_calloc(number, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
  ++count;
  return __libc_realloc(memory, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++count;
  return __libc_memalign(alignment, bytes);
}

}  // extern "C"
#pragma GCC visibility pop

namespace lockstep::topology::test {

long allocations_of_this_thread() {
  return count;
}

}  // namespace lockstep::topology::test

#endif
