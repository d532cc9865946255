// Ranks that are processes: their segments are memfds, passed through rank 0 over a unix socket
// whose name and password the store tells them.
#pragma once

#include <chrono>
#include <memory>

#include "collectives/host/host_communicator.h"
#include "collectives/host/meeting.h"

namespace lockstep::collectives::host {

// Collective over the ranks of a host, options.rank and options.world being among them. REQUIRES:
// options.store. Errors: CollectiveError or rendezvous::StoreError naming who
// is missing.
[[nodiscard]] std::unique_ptr<Meeting> make_socket_meeting(const HostOptions& options);

}  // namespace lockstep::collectives::host
