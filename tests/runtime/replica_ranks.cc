#include "tests/runtime/replica_ranks.h"

#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "collectives/host/host_communicator.h"
#include "engine/cpu/kernels.h"
#include "runtime/parallel/kernels.h"
#include "runtime/parallel/ops.h"
#include "tests/collectives/hosts.h"

namespace lockstep::runtime::test {
namespace {

data::BatchPlan plan_of(const RankSetup& setup, int world) {
  return data::BatchPlan({.samples = setup.batch,
                          .batch = setup.batch,
                          .world = world,
                          .accumulate = setup.accumulate,
                          .mode = data::Mode::training});
}

// A class's pattern under noise, so that there is something to learn.
float pixel(std::int64_t step, std::int64_t row, std::int64_t place, int label) {
  auto hash = static_cast<std::uint32_t>(row * 7919 + place + step * 100003) * 2654435761u;
  hash ^= hash >> 15;
  hash *= 2246822519u;
  hash ^= hash >> 13;
  return static_cast<float>(hash & 0xffff) / 65536.0f - 0.5f + (place % 10 == label ? 1.0f : 0.0f);
}

// A text of ten tokens, of which most follow from the one before.
std::int32_t token(std::int64_t step, std::int64_t row, std::int64_t place) {
  const auto hash = static_cast<std::uint32_t>(row * 7919 + place + step * 100003) * 2654435761u;
  const std::int64_t regular = row + step * 7 + place * 3;
  return static_cast<std::int32_t>((hash >> 28 == 0 ? hash >> 8 : regular) % 10);
}

engine::CompiledJob compile_with(const RankSetup& setup, int world,
                                 const engine::KernelTable& kernels) {
  engine::OpTable ops = engine::standard_ops();
  parallel::add_ops(ops);
  const parallel::DataParallel communicate(setup.parallel);
  const std::int64_t capacity = plan_of(setup, world).capacity();
  return engine::compile(setup.model, ops, kernels,
                         {.sample = setup.sample,
                          .batch = capacity,
                          .evaluation_batch = setup.evaluation ? capacity : 0,
                          .accumulate = setup.accumulate,
                          .precision = setup.precision,
                          .recompute = setup.recompute,
                          .optimizer = setup.optimizer},
                         &communicate);
}

}  // namespace

engine::CompiledJob compile_for(const RankSetup& setup, int world) {
  return compile_with(setup, world, engine::cpu::kernels(1));
}

namespace {

void train_as_rank(const RankSetup& setup, collectives::Communicator& communicator,
                   const std::function<void(RankContext&)>& body) {
  engine::cpu::flush_denormals();
  engine::KernelTable kernels = engine::cpu::kernels(1);
  engine::CompiledJob compiled = compile_with(setup, communicator.world(), kernels);
  parallel::add_kernels(kernels, communicator);
  Replica replica(std::move(compiled), kernels, communicator, setup.accumulate);
  replica.initialise(1);
  RankContext context{communicator.rank(), communicator.world(), replica, communicator};
  body(context);
}

}  // namespace

void on_ranks(const RankSetup& setup, int world, const std::function<void(RankContext&)>& body) {
  if (!setup.hosts.empty()) {
    const auto errors = collectives::errors_of_hosts(
        setup.hosts, [&](collectives::Communicator& c) { train_as_rank(setup, c, body); });
    for (const std::string& error : errors) {
      if (!error.empty()) throw std::runtime_error(error);
    }
    return;
  }
  auto group = collectives::host::make_thread_group(world, std::chrono::seconds(60));
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      auto communicator = collectives::host::make_thread_communicator(group, rank);
      try {
        train_as_rank(setup, *communicator, body);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
        communicator->abort(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

data::Batch share_of(const RankSetup& setup, const RankContext& context, std::int64_t step,
                     std::int64_t micro) {
  const data::BatchPlan plan = plan_of(setup, context.world);
  const data::ShareRange range = plan.share(0, context.rank, micro);
  const engine::SampleShape& sample = setup.sample;
  const std::int64_t pixels = sample.height * sample.width * sample.channels;
  data::Batch batch;
  batch.capacity = plan.capacity();
  batch.count = range.count;
  batch.micro = micro;
  batch.global_weight = setup.batch * sample.labels();
  batch.images.resize(static_cast<std::size_t>(batch.capacity * pixels));
  batch.tokens.resize(static_cast<std::size_t>(batch.capacity * sample.context));
  batch.labels.resize(static_cast<std::size_t>(batch.capacity * sample.labels()));
  batch.rows.assign(static_cast<std::size_t>(batch.capacity), -1);
  batch.weights.resize(static_cast<std::size_t>(batch.capacity));
  for (std::int64_t i = 0; i < range.count; ++i) {
    const std::int64_t row = range.first_row + i;
    const int label = static_cast<int>((row + step * 7) % 10);
    batch.rows[static_cast<std::size_t>(i)] = row;
    for (std::int64_t t = 0; t < sample.labels(); ++t) {
      const auto at = static_cast<std::size_t>(i * sample.labels() + t);
      if (sample.is_tokens()) batch.tokens[at] = token(step, row, t);
      batch.labels[at] = sample.is_tokens() ? token(step, row, t + 1) : label;
    }
    batch.weights[static_cast<std::size_t>(i)] = 1;
    for (std::int64_t place = 0; place < pixels; ++place) {
      batch.images[static_cast<std::size_t>(i * pixels + place)] = pixel(step, row, place, label);
    }
  }
  return batch;
}

std::vector<double> losses(const RankSetup& setup, int world, std::int64_t steps) {
  std::vector<double> found;
  on_ranks(setup, world, [&](RankContext& context) {
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::int64_t micro = 0; micro < setup.accumulate; ++micro) {
        context.replica.run_micro_step(share_of(setup, context, step, micro));
      }
      const engine::StepState& state = context.replica.state();
      if (context.rank == 0) found.push_back(state.loss_sum / state.weight_sum);
    }
  });
  return found;
}

}  // namespace lockstep::runtime::test
