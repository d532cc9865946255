// How long each node of a job's step takes, one after the other on one thread, and what its
// convolutions cost alone:
//
//   build/release/tests/bench/node_times lenet|resnet8 [batch [threads]]
//
// Medians over many steps in checking mode, where nothing overlaps.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "collectives/host/host_communicator.h"
#include "engine/compile.h"
#include "engine/cpu/kernels.h"
#include "engine/models/models.h"
#include "runtime/parallel/communicate.h"
#include "runtime/parallel/kernels.h"
#include "runtime/parallel/ops.h"
#include "runtime/replica.h"

namespace {

using namespace lockstep;
using std::chrono::duration;
using std::chrono::steady_clock;

constexpr int kSteps = 400;

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

int run(const std::string& model, std::int64_t batch_size, int threads) {
  engine::cpu::flush_denormals();
  auto communicator = collectives::host::make_host_communicator({});
  engine::OpTable ops = engine::standard_ops();
  runtime::parallel::add_ops(ops);
  engine::KernelTable kernels = engine::cpu::kernels(threads);
  const runtime::parallel::DataParallel communicate({});
  const bool lenet = model == "lenet";
  const engine::SampleShape sample =
      lenet ? engine::SampleShape{28, 28, 1} : engine::SampleShape{32, 32, 3};
  engine::CompiledJob compiled = engine::compile(
      lenet ? engine::models::lenet(10) : engine::models::small_resnet({.depth = 8}), ops, kernels,
      {.sample = sample, .batch = batch_size}, &communicate);
  const engine::Plan plan = compiled.plans.at("whole");
  runtime::parallel::add_kernels(kernels, *communicator);
  runtime::Replica replica(std::move(compiled), kernels, *communicator, 1);
  replica.initialise(1);

  runtime::data::Batch batch;
  batch.capacity = batch.count = batch.global_weight = batch_size;
  const auto samples = static_cast<std::size_t>(batch_size);
  batch.images.resize(samples *
                      static_cast<std::size_t>(image.height * image.width * image.channels));
  for (std::size_t i = 0; i < batch.images.size(); ++i)
    batch.images[i] = static_cast<float>(i % 17) * 0.1f - 0.8f;
  batch.labels.resize(samples);
  for (std::size_t i = 0; i < samples; ++i) batch.labels[i] = static_cast<int>(i % 10);
  batch.weights.assign(samples, 1.0f);

  std::vector<std::vector<double>> seconds(plan.entries.size());
  std::vector<double> whole;
  for (int step = 0; step < kSteps; ++step) {
    const auto begin = steady_clock::now();
    replica.run_micro_step(batch);
    whole.push_back(duration<double>(steady_clock::now() - begin).count());
    std::size_t node = 0;
    auto last = steady_clock::now();
    replica.check_micro_step(batch, [&](const engine::Graph&, const engine::Node&) {
      const auto now = steady_clock::now();
      seconds[node++].push_back(duration<double>(now - last).count());
      last = steady_clock::now();
    });
  }
  double convolutions = 0, all = 0;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const engine::Node& node = plan.node(plan.entries[i]);
    const double time = median(seconds[i]);
    const engine::Cost cost = ops.find(node.op).cost(plan.graph, node);
    all += time;
    if (node.op.starts_with("conv2d")) convolutions += time;
    fmt::print("{:40} {:9.1f} us {:8.1f} GFLOP/s {:7.1f} GB/s\n", node.name, 1e6 * time,
               cost.flops / time / 1e9, cost.bytes / time / 1e9);
  }
  fmt::print(
      "{} batch {} on {} thread(s): step {:.0f} us; nodes one by one {:.0f} us, of which "
      "convolutions {:.0f} us\n",
      model, batch_size, threads, 1e6 * median(whole), 1e6 * all, 1e6 * convolutions);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "lenet";
  if (model != "lenet" && model != "resnet8") {
    fmt::print(stderr, "usage: node_times lenet|resnet8 [batch [threads]]\n");
    return 2;
  }
  return run(model, argc > 2 ? std::atoll(argv[2]) : 64, argc > 3 ? std::atoi(argv[3]) : 1);
}
