// A rank that is a process: `host_worker MODE`, with the environment of a worker.
//   exact   makes every collective once, checks the result, leaves; prints "ok"
//   busy    sums a bucket again and again; prints "ready" when the first are done
//   late    rank 1 never makes its communicator; the others try
// With LOCKSTEP_LOCAL_RANK and its like it is one of several hosts.
// What a rank fails with is printed as "error: ...".
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/host/host_communicator.h"
#include "collectives/rendezvous/store_client.h"

namespace {

using namespace lockstep::collectives;
using lockstep::engine::Sharing;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) throw std::runtime_error("no reader");
}

void expect_all(std::span<const float> values, float expected) {
  for (const float value : values) {
    if (value != expected) throw std::runtime_error("wrong value " + std::to_string(value));
  }
}

Buffer buffer_of(std::span<float> values) {
  return {values.data(), values.size(), DType::f32};
}

std::span<float> allocate(Communicator& c, std::size_t count, Sharing sharing) {
  const auto memory = c.allocate("arena", count * sizeof(float), sharing);
  return {reinterpret_cast<float*>(memory.data()), count};
}

HostPlace place_from_environment() {
  const auto number = [](const char* name) { return std::stoi(std::getenv(name)); };
  return {number("LOCKSTEP_HOST_RANK"), number("GROUP_WORLD_SIZE"), number("LOCKSTEP_LOCAL_RANK"),
          number("LOCKSTEP_LOCAL_WORLD")};
}

void exact(Communicator& c) {
  const auto world = static_cast<float>(c.world());
  const auto rank = static_cast<float>(c.rank());
  const float sum = world * (world - 1) / 2;
  const auto arena = allocate(c, 300'000, Sharing::exchanged);
  const auto shared = allocate(c, 300'000, Sharing::host);
  std::vector<float> heap(300'000, rank);
  std::vector<float> small(3, rank);
  for (float& value : arena) value = rank;
  c.all_reduce(buffer_of(arena), ReduceOp::sum);
  c.all_reduce(buffer_of(heap), ReduceOp::sum);
  c.stream().wait(c.all_reduce(buffer_of(small), ReduceOp::sum));
  expect_all(arena, sum);
  expect_all(heap, sum);
  expect_all(small, sum);
  c.barrier();
  c.stream().wait(
      c.reduce_scatter(buffer_of(arena), ReduceOp::sum, [&](std::size_t b, std::size_t e) {
        for (std::size_t i = b; i < e; ++i) shared[i] = arena[i] + 1;
      }));
  expect_all(shared, sum * world + 1);
  c.barrier();
  c.stream().wait(c.all_gather(buffer_of(shared), [&](std::size_t b, std::size_t e) {
    for (std::size_t i = b; i < e; ++i) shared[i] = 5;
  }));
  expect_all(shared, 5);
  for (float& value : heap) value = rank;
  c.stream().wait(c.broadcast(buffer_of(heap), c.world() - 1));
  expect_all(heap, world - 1);
  c.barrier();
}

void busy(Communicator& c) {
  const auto bucket = allocate(c, 1 << 20, Sharing::exchanged);
  for (int round = 0;; ++round) {
    if (round == 10) say("ready");
    c.stream().wait(c.all_reduce(buffer_of(bucket), ReduceOp::max));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    const auto deadline = std::chrono::milliseconds(argc > 2 ? std::stoi(argv[2]) : 60'000);
    const auto options = rendezvous::store_options_from_environment();
    if (!options) throw std::runtime_error("LOCKSTEP_STORE is not set");
    rendezvous::StoreClient store(*options);
    if (mode == "late" && store.rank() == 1) {
      static_cast<void>(store.get("never", std::chrono::hours(1)));
    }
    const auto communicator = host::make_host_communicator(
        {.rank = store.rank(),
         .world = store.world(),
         .place = place_from_environment(),
         .deadline = deadline,
         .store = &store,
         .name = "rank " + std::to_string(store.rank()) + " (" + store.host() + ")",
         .interface = "lo"});
    if (mode == "busy") busy(*communicator);
    exact(*communicator);
    store.leave();
    say("ok");
    return 0;
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what());
    return 1;
  }
}
