// Ranks that are threads of one process: their segments are the same mapping, so that a thread
// sanitizer sees who touches what.
#pragma once

#include <chrono>
#include <memory>

#include "collectives/host/host_communicator.h"
#include "collectives/host/meeting.h"

namespace lockstep::collectives::host {

[[nodiscard]] std::unique_ptr<Meeting> make_thread_meeting(std::shared_ptr<ThreadGroup> group,
                                                           int rank);
[[nodiscard]] int world_of(const ThreadGroup& group);
[[nodiscard]] std::chrono::nanoseconds deadline_of(const ThreadGroup& group);

}  // namespace lockstep::collectives::host
