// The executor on test kernels: a communication stream with a thread of its own, so that a missing
// wait would be a race that the thread sanitizer sees.
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/error.h"
#include "engine/executor.h"
#include "tests/engine/ops.h"

namespace lockstep::engine {
namespace {

using test::ops;

// Work is done in order by another thread; events count the work that is done.
class ThreadStream final : public Stream {
 public:
  ThreadStream() : thread_([this] { work(); }) {}
  ~ThreadStream() override {
    enqueue(nullptr);
    thread_.join();
  }

  void enqueue(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    ++enqueued_;
    changed_.notify_all();
  }
  Event record() override {
    const std::lock_guard lock(mutex_);
    return {enqueued_};
  }
  void progress() override {}
  void wait(Event event) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= event.sequence; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      if (!job) return;
      lock.unlock();
      job();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::uint64_t enqueued_ = 0;
  std::uint64_t done_ = 0;
  std::thread thread_;
};

// Adds on the caller's thread, or on the stream's for nodes of the communication stream.
KernelTable adding_kernels(ThreadStream& communication) {
  KernelTable kernels;
  kernels.add({.op = "add", .bind = [&communication](const Binding& binding) -> Kernel {
                 const float* a = binding.in<float>(0);
                 const float* b = binding.in<float>(1);
                 float* sum = binding.out<float>(0);
                 const std::int64_t count = binding.output(0).shape.elements();
                 auto run = [=] {
                   for (std::int64_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
                 };
                 if (binding.node.stream == StreamKind::compute) return run;
                 return [&communication, run] { communication.enqueue(run); };
               }});
  return kernels;
}

ValueId add(Graph& graph, const std::string& name, ValueId a, ValueId b, StreamKind stream) {
  return emit(graph, ops(),
              {.op = "add", .name = name, .inputs = {a, b}, .outputs = {}, .stream = stream})[0];
}

struct Compiled {
  Plan plan;
  ValueId input;
  std::vector<ValueId> results;
};

// Doubles an input on both streams in turn, while the compute stream has work of its own beside it.
Compiled zigzag() {
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .shape = {1000}, .role = Role::input});
  std::vector<ValueId> results;
  ValueId value = x;
  for (int i = 0; i < 6; ++i) {
    value = add(graph, "there" + std::string(1, static_cast<char>('0' + i)), value, value,
                StreamKind::communication);
    const ValueId beside = add(graph, "beside" + std::string(1, static_cast<char>('0' + i)), x, x,
                               StreamKind::compute);
    value = add(graph, "back" + std::string(1, static_cast<char>('0' + i)), value, beside,
                StreamKind::compute);
  }
  results.push_back(value);
  graph.set_result("end", value);
  PersistentPlacement placement;
  placement.place_parameters(graph, {});
  placement.place(graph);
  return {plan_memory(place_events(graph), ops(), placement), x, results};
}

TEST(Executor, WaitsForWhatTheOtherStreamMakes) {
  const Compiled compiled = zigzag();
  HeapMemory memory;
  const Arenas arenas(compiled.plan.arena_bytes, memory);
  ThreadStream communication;
  Program program(compiled.plan, adding_kernels(communication), arenas);
  auto* input = reinterpret_cast<float*>(program.bytes(compiled.input).data());
  for (int round = 1; round <= 50; ++round) {
    for (int i = 0; i < 1000; ++i) input[i] = static_cast<float>(round);
    InlineStream compute;
    program.run(compute, communication);
    const auto* end = reinterpret_cast<const float*>(program.bytes(compiled.results[0]).data());
    // v -> 2v + 2x six times, from x: 64x + 2x(63).
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(end[i], static_cast<float>(190 * round)) << i;
  }
}

TEST(Executor, CheckingModeShowsEveryNodeInOrder) {
  const Compiled compiled = zigzag();
  HeapMemory memory;
  const Arenas arenas(compiled.plan.arena_bytes, memory);
  ThreadStream communication;
  Program program(compiled.plan, adding_kernels(communication), arenas);
  InlineStream compute;
  std::vector<std::string> seen;
  program.run_checked(compute, communication, [&](const Node& node) { seen.push_back(node.name); });
  ASSERT_EQ(seen.size(), 18u);
  EXPECT_EQ(seen[0], "there0");
  EXPECT_EQ(seen[17], "back5");
}

TEST(Executor, RefusesAnUnsoundPlanBeforeItRuns) {
  Compiled compiled = zigzag();
  compiled.plan.entries[2].waits.clear();
  HeapMemory memory;
  const Arenas arenas(compiled.plan.arena_bytes, memory);
  ThreadStream communication;
  EXPECT_THROW(Program(compiled.plan, adding_kernels(communication), arenas), Error);
}

TEST(Executor, NamesAnOpThatTheDeviceLacks) {
  const Compiled compiled = zigzag();
  HeapMemory memory;
  const Arenas arenas(compiled.plan.arena_bytes, memory);
  try {
    Program(compiled.plan, KernelTable(), arenas);
    FAIL() << "there is no kernel";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "this device has no kernel for \"add\"");
  }
}

}  // namespace
}  // namespace lockstep::engine
