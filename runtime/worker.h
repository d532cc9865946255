// Who this process is in a job, and how it talks to the others.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "collectives/communicator.h"
#include "collectives/rendezvous/store_client.h"
#include "engine/device/visibility.h"

namespace lockstep::runtime {

// A place among the workers. Alone: rank 0 of 1.
struct WorkerPlace {
  int rank = 0;
  int world = 1;
  int local_rank = 0;
  int local_world = 1;
  int host = 0;
  int hosts = 1;
  int generation = 0;     // attempts of this job before this one
  bool launched = false;  // by `lockstep launch`, which watches us and has made the run folder
};

// From LOCKSTEP_RANK, LOCKSTEP_WORLD, LOCKSTEP_LOCAL_RANK and LOCKSTEP_LOCAL_WORLD, and where there
// are more ranks than local ones LOCKSTEP_HOST_RANK and GROUP_WORLD_SIZE; alone where none is set.
// Throws std::invalid_argument that names the variable where some are missing or wrong.
[[nodiscard]] LOCKSTEP_API WorkerPlace place_from_environment();

// Threads for computing: OMP_NUM_THREADS, else the CPUs this process may use divided among the
// host's workers.
[[nodiscard]] LOCKSTEP_API int compute_threads(const WorkerPlace& place);

// Keeps this worker on its own share of the CPUs it may use, where there are enough for all local
// workers; so that they do not push each other about. Threads made later inherit it.
LOCKSTEP_API void pin(const WorkerPlace& place, int threads);

// A worker that has joined the others. The store client is null when alone.
struct Worker {
  WorkerPlace place;
  std::unique_ptr<collectives::rendezvous::StoreClient> store;
  std::unique_ptr<collectives::Communicator> communicator;
};

// Collective: meets the others through the store; hosts speak over the interface that
// LOCKSTEP_INTERFACE names, or any. With `synchronise` false every worker trains
// alone, in memory of its own (benchmarks).
[[nodiscard]] LOCKSTEP_API Worker join(const WorkerPlace& place, std::chrono::nanoseconds deadline,
                                       bool synchronise);

}  // namespace lockstep::runtime
