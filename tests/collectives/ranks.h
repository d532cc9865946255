// Ranks as threads of the test.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/host/host_communicator.h"

namespace lockstep::collectives {

// Runs `body` on `world` threads, each with its communicator, and returns what each failed with (""
// for nothing).
inline std::vector<std::string> errors_of_ranks(
    int world, const std::function<void(Communicator&)>& body,
    std::chrono::nanoseconds deadline = std::chrono::seconds(60)) {
  const auto group = host::make_thread_group(world, deadline);
  std::vector<std::string> errors(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto communicator = host::make_thread_communicator(group, rank);
        body(*communicator);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

}  // namespace lockstep::collectives
