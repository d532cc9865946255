#include "runtime/worker.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "collectives/host/host_communicator.h"

namespace lockstep::runtime {
namespace {

int number_in(const char* variable, int least) {
  const char* text = std::getenv(variable);
  if (!text) {
    throw std::invalid_argument(fmt::format(
        "{} is not set, though LOCKSTEP_STORE is: start workers with `lockstep launch`", variable));
  }
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < least) {
    throw std::invalid_argument(
        fmt::format("{}={}: expected a whole number of at least {}", variable, view, least));
  }
  return value;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

WorkerPlace place_from_environment() {
  if (!std::getenv("LOCKSTEP_STORE")) return {};
  WorkerPlace place{.rank = number_in("LOCKSTEP_RANK", 0),
                    .world = number_in("LOCKSTEP_WORLD", 1),
                    .local_rank = number_in("LOCKSTEP_LOCAL_RANK", 0),
                    .local_world = number_in("LOCKSTEP_LOCAL_WORLD", 1),
                    .generation = number_in("LOCKSTEP_GENERATION", 0),
                    .launched = true};
  if (place.rank >= place.world || place.local_rank >= place.local_world) {
    throw std::invalid_argument(fmt::format(
        "LOCKSTEP_RANK {} of LOCKSTEP_WORLD {}: ranks count from 0", place.rank, place.world));
  }
  if (place.local_world < place.world) {
    place.host = number_in("LOCKSTEP_HOST_RANK", 0);
    place.hosts = number_in("GROUP_WORLD_SIZE", 2);
  }
  return place;
}

int compute_threads(const WorkerPlace& place) {
  if (std::getenv("OMP_NUM_THREADS")) return number_in("OMP_NUM_THREADS", 1);
  return std::max(1, static_cast<int>(allowed_cpus().size()) / place.local_world);
}

void pin(const WorkerPlace& place, int threads) {
  const std::vector<int> cpus = allowed_cpus();
  if (place.local_world == 1 || static_cast<int>(cpus.size()) < place.local_world * threads) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < threads; ++i) {
    CPU_SET(cpus[static_cast<std::size_t>(place.local_rank * threads + i)], &set);
  }
  // Failing to pin costs speed, not results.
  (void)::sched_setaffinity(0, sizeof set, &set);
}

Worker join(const WorkerPlace& place, std::chrono::nanoseconds deadline, bool synchronise) {
  Worker worker{.place = place, .store = nullptr, .communicator = nullptr};
  if (auto options = collectives::rendezvous::store_options_from_environment()) {
    worker.store = std::make_unique<collectives::rendezvous::StoreClient>(std::move(*options));
  }
  collectives::host::HostOptions options{.deadline = deadline};
  if (synchronise) {
    options.rank = place.rank;
    options.world = place.world;
    options.place = {place.host, place.hosts, place.local_rank, place.local_world};
    if (const char* interface = std::getenv("LOCKSTEP_INTERFACE")) options.interface = interface;
    options.store = worker.store.get();
    if (worker.store) options.name = fmt::format("rank {} ({})", place.rank, worker.store->host());
  }
  worker.communicator = collectives::host::make_host_communicator(options);
  return worker;
}

}  // namespace lockstep::runtime
