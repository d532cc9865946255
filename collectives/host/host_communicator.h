// Ranks on CPUs: those of one host share memory, and each reduces its slice with its own thread;
// hosts are joined by their first ranks.
//
// A call starts when every rank of a host has made it, and moves on whenever a rank is within one
// of its calls, progress() or wait(). A rank that waits spins for a moment where every rank has a
// processor, and then sleeps. Where there are more hosts the first rank has a thread that sleeps
// until its host's sum of a call is made, and then makes the step between hosts (collectives/ucx).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "collectives/communicator.h"

namespace lockstep::collectives::rendezvous {
class StoreClient;
}

namespace lockstep::collectives::host {

struct HostOptions {
  int rank = 0;
  int world = 1;
  std::optional<HostPlace> place{};  // nothing: all ranks are on this host
  std::chrono::nanoseconds deadline = std::chrono::seconds(600);
  // Where the ranks meet. Must outlive the communicator; may be null when world is 1.
  rendezvous::StoreClient* store = nullptr;
  std::string name{};          // of this rank in messages, "rank 3 (node2)"; empty: "rank 3"
  std::string group = "host";  // one word for each communicator that is made over the same store
  std::string interface {};    // that leads to the other hosts, "eth0"; empty: any
};

// Collective: all ranks call it. Errors: CollectiveError or rendezvous::StoreError naming the ranks
// that did not come within the deadline.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Communicator> make_host_communicator(
    const HostOptions& options);

// For ranks that are threads of one process: each makes its own communicator from the group, in any
// order. No store, no descriptor.
class ThreadGroup;
[[nodiscard]] LOCKSTEP_API std::shared_ptr<ThreadGroup> make_thread_group(
    int world, std::chrono::nanoseconds deadline = std::chrono::seconds(600));
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Communicator> make_thread_communicator(
    std::shared_ptr<ThreadGroup> group, int rank);

}  // namespace lockstep::collectives::host
