// Sleeping on a word that lies in memory shared by processes. (std::atomic::wait of libstdc++ wakes
// only within one process.)
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockstep::collectives::host {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Returns when the word was woken, was not `seen`, `timeout` has passed, or for no reason.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                std::chrono::nanoseconds timeout);

void futex_wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace lockstep::collectives::host
