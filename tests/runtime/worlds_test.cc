// The same training in different worlds: one, two, three and four ranks, whole steps and
// micro-steps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "engine/models/models.h"
#include "tests/runtime/replica_ranks.h"

namespace lockstep::runtime::test {
namespace {

RankSetup lenet() {
  RankSetup setup;
  setup.model = engine::models::lenet(10);
  setup.optimizer.kind = engine::OptimizerKind::adamw;
  setup.optimizer.schedule.peak = 1e-3;
  setup.optimizer.beta2 = 0.999;
  return setup;
}

RankSetup resnet8() {
  RankSetup setup;
  setup.model = engine::models::small_resnet({.depth = 8});
  setup.optimizer.schedule.peak = 0.02;
  setup.optimizer.weight_decay = 5e-4;
  setup.parallel.batch_norm = parallel::BatchNormPolicy::synchronised;
  return setup;
}

// A small GPT of which all layers drop.
RankSetup gpt(double dropout) {
  RankSetup setup;
  setup.model = engine::models::gpt2(
      {.layers = 2, .heads = 2, .width = 16, .context = 12, .vocabulary = 10, .dropout = dropout});
  setup.sample = {.context = 12};
  setup.optimizer.kind = engine::OptimizerKind::adamw;
  setup.optimizer.schedule.peak = 3e-3;
  setup.optimizer.clip_norm = 1;
  return setup;
}

void expect_within(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t step = 0; step < a.size(); ++step) {
    EXPECT_NEAR(a[step] / b[step], 1, tolerance)
        << "step " << step << ": " << a[step] << " and " << b[step];
  }
}

TEST(Worlds, LeNetsFiftyLossesAreTheSameOnOneToFourRanks) {
  const std::vector<double> alone = losses(lenet(), 1, 50);
  EXPECT_LT(alone.back(), 0.7 * alone.front()) << "nothing was learnt, so nothing was compared";
  for (int world : {2, 3, 4}) expect_within(losses(lenet(), world, 50), alone, 1e-4);
}

TEST(Worlds, LeNetsFiftyLossesAreTheSameInOneTwoAndFourMicroSteps) {
  const std::vector<double> whole = losses(lenet(), 2, 50);
  for (int accumulate : {2, 4}) {
    RankSetup setup = lenet();
    setup.accumulate = accumulate;
    expect_within(losses(setup, 2, 50), whole, 1e-4);
  }
}

TEST(Worlds, ClippingKnowsTheWholeGradientsNorm) {
  RankSetup setup = lenet();
  setup.optimizer.clip_norm = 0.05;
  const std::vector<double> alone = losses(setup, 1, 20);
  for (int world : {2, 3}) expect_within(losses(setup, world, 20), alone, 1e-4);
  const std::vector<double> unclipped = losses(lenet(), 1, 20);
  EXPECT_GT(std::abs(unclipped.back() - alone.back()), 1e-6) << "clipping changed nothing";
}

TEST(Worlds, GptsFiftyLossesAreTheSameOnOneTwoAndFourRanksWithDropoutToo) {
  for (double dropout : {0.0, 0.1}) {
    const std::vector<double> alone = losses(gpt(dropout), 1, 50);
    EXPECT_LT(alone.back(), 0.8 * alone.front()) << "nothing was learnt, so nothing was compared";
    for (int world : {2, 4}) expect_within(losses(gpt(dropout), world, 50), alone, 1e-5);
  }
}

TEST(Worlds, DropoutIsTheSameInOneAndInThreeMicroSteps) {
  const std::vector<double> whole = losses(gpt(0.2), 2, 20);
  EXPECT_GT(std::abs(whole.back() - losses(gpt(0.0), 2, 20).back()), 1e-4) << "nothing was dropped";
  RankSetup setup = gpt(0.2);
  setup.accumulate = 3;
  expect_within(losses(setup, 2, 20), whole, 1e-5);
}

TEST(Recompute, ChangesNoBitOfALossAndSavesActivations) {
  for (RankSetup setup : {gpt(0.1), resnet8()}) {
    for (engine::Precision precision : {engine::Precision::fp32, engine::Precision::bf16}) {
      setup.precision = precision;
      setup.recompute = engine::Recompute::none;
      const std::vector<double> kept = losses(setup, 2, 6);
      const auto activations = [&] {
        return compile_for(setup, 2)
            .arena_bytes[static_cast<std::size_t>(engine::Arena::activations)];
      };
      const std::size_t whole = activations();
      setup.recompute = engine::Recompute::block;
      EXPECT_EQ(losses(setup, 2, 6), kept);
      EXPECT_LT(activations(), whole);
    }
  }
}

TEST(Worlds, ResNetWithSynchronisedBatchNormHasTheSameFiveLosses) {
  const std::vector<double> alone = losses(resnet8(), 1, 5);
  for (int world : {2, 3, 4}) expect_within(losses(resnet8(), world, 5), alone, 1e-4);
}

TEST(Worlds, ABatchThatDoesNotDivideIsTheSameToo) {
  RankSetup setup = resnet8();
  setup.batch = 23;
  const std::vector<double> alone = losses(setup, 1, 5);
  for (int world : {2, 3, 4}) expect_within(losses(setup, world, 5), alone, 1e-4);
}

// Gradients of step 0, summed over ranks, by tensor: each rank holds its slices of the sum.
std::map<std::string, std::vector<float>> first_gradients(const RankSetup& setup, int world) {
  std::map<std::string, std::vector<float>> found;
  std::vector<float> whole;
  std::mutex mutex;
  on_ranks(setup, world, [&](RankContext& context) {
    context.replica.run_micro_step(share_of(setup, context, 0, 0));
    const std::span<const float> mine = context.replica.gradients();
    const auto& placement = context.replica.compiled().placement;
    const std::lock_guard lock(mutex);
    whole.resize(mine.size());
    for (const engine::Bucket& bucket : placement.buckets()) {
      const collectives::Slice slice =
          collectives::slice_of(bucket.end - bucket.begin, context.rank, world);
      std::copy(mine.begin() + static_cast<std::ptrdiff_t>(bucket.begin + slice.begin),
                mine.begin() + static_cast<std::ptrdiff_t>(bucket.begin + slice.end),
                whole.begin() + static_cast<std::ptrdiff_t>(bucket.begin + slice.begin));
    }
  });
  const engine::CompiledJob compiled = compile_for(setup, world);
  for (const auto& named : compiled.placement.saved()) {
    if (named.arena != engine::Arena::parameters) continue;
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(named.offset / sizeof(float));
    found[named.name] = {begin, begin + named.shape.elements()};
  }
  return found;
}

TEST(Worlds, ResNetsFirstGradientsAreTheSameByTensor) {
  const auto alone = first_gradients(resnet8(), 1);
  for (int world : {2, 3, 4}) {
    const auto shared = first_gradients(resnet8(), world);
    ASSERT_EQ(shared.size(), alone.size());
    for (const auto& [name, expected] : alone) {
      double difference = 0, size = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        difference +=
            std::pow(static_cast<double>(shared.at(name)[i]) - static_cast<double>(expected[i]), 2);
        size += std::pow(static_cast<double>(expected[i]), 2);
      }
      EXPECT_GT(size, 0) << name;
      EXPECT_LE(std::sqrt(difference / size), 1e-4) << name << " on " << world << " ranks";
    }
  }
}

std::vector<std::byte> all_bytes(const RankSetup& setup, int world, std::int64_t steps) {
  std::vector<std::byte> bytes;
  on_ranks(setup, world, [&](RankContext& context) {
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::int64_t micro = 0; micro < setup.accumulate; ++micro) {
        context.replica.run_micro_step(share_of(setup, context, step, micro));
      }
    }
    context.replica.average_buffers();
    if (context.rank != 0) return;
    for (const SavedTensor& tensor : context.replica.tensors()) {
      bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
    }
  });
  return bytes;
}

TEST(Worlds, TheSameWorldTwiceGivesTheSameBits) {
  RankSetup local = resnet8();
  local.parallel.batch_norm = parallel::BatchNormPolicy::local;
  for (const RankSetup& setup : {lenet(), resnet8(), local}) {
    for (int world : {1, 2, 3}) {
      const std::vector<std::byte> first = all_bytes(setup, world, 4);
      EXPECT_TRUE(first == all_bytes(setup, world, 4)) << world << " ranks";
    }
  }
}

TEST(Worlds, OverlapDoesNotChangeTheBits) {
  RankSetup late = lenet();
  late.parallel.overlap = false;
  RankSetup small = lenet();
  small.parallel.largest_bucket = 1;  // a bucket a parameter
  const auto losses_of = [](const RankSetup& setup) { return losses(setup, 3, 6); };
  EXPECT_EQ(losses_of(late), losses_of(lenet()));
  EXPECT_EQ(losses_of(small), losses_of(lenet()));
}

TEST(Worlds, ALossThatIsNotFiniteTouchesNoParameterOnAnyRank) {
  RankSetup setup = resnet8();
  on_ranks(setup, 3, [&](RankContext& context) {
    context.replica.run_micro_step(share_of(setup, context, 0, 0));
    std::vector<std::vector<std::byte>> before;
    for (const SavedTensor& tensor : context.replica.tensors()) {
      before.emplace_back(tensor.bytes.begin(), tensor.bytes.end());
    }
    context.communicator.barrier();
    data::Batch batch = share_of(setup, context, 1, 0);
    if (context.rank == 1) batch.images[5] = std::nanf("");
    context.replica.run_micro_step(batch);
    EXPECT_EQ(context.replica.state().skip, 1u);
    EXPECT_EQ(context.replica.state().applied, 1u);
    EXPECT_EQ(context.replica.state().step, 2u);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const SavedTensor& tensor = context.replica.tensors()[i];
      EXPECT_TRUE(std::equal(before[i].begin(), before[i].end(), tensor.bytes.begin()))
          << tensor.name;
    }
    context.communicator.barrier();
    context.replica.run_micro_step(share_of(setup, context, 2, 0));
    EXPECT_EQ(context.replica.state().skip, 0u);
    EXPECT_EQ(context.replica.state().applied, 2u);
  });
}

// On as many ranks as the hosts have together.
RankSetup on_hosts(RankSetup setup, const std::vector<int>& hosts) {
  setup.hosts = hosts;
  return setup;
}

int ranks_of(const std::vector<int>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), 0);
}

TEST(Hosts, LeNetsFiftyLossesAreThoseOfOneWorkerOnTwoAndThreeHosts) {
  const std::vector<double> alone = losses(lenet(), 1, 50);
  for (const std::vector<int>& hosts :
       {std::vector{1, 1}, std::vector{1, 1, 1}, std::vector{3, 1, 2}}) {
    expect_within(losses(on_hosts(lenet(), hosts), ranks_of(hosts), 50), alone, 1e-4);
  }
}

TEST(Hosts, ClippingCountsEveryGradientOnce) {
  RankSetup setup = lenet();
  setup.optimizer.clip_norm = 0.05;
  const std::vector<double> alone = losses(setup, 1, 20);
  expect_within(losses(on_hosts(setup, {3, 1, 2}), 6, 20), alone, 1e-4);
}

TEST(Hosts, SynchronisedBatchNormHasTheSameFiveLosses) {
  expect_within(losses(on_hosts(resnet8(), {2, 1}), 3, 5), losses(resnet8(), 1, 5), 1e-4);
}

// What outlives steps, of every rank.
std::vector<std::vector<std::byte>> bytes_of_ranks(const RankSetup& setup) {
  std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(ranks_of(setup.hosts)));
  on_ranks(setup, ranks_of(setup.hosts), [&](RankContext& context) {
    for (std::int64_t step = 0; step < 10; ++step) {
      context.replica.run_micro_step(share_of(setup, context, step, 0));
    }
    context.replica.average_buffers();
    context.communicator.barrier();
    auto& bytes = all[static_cast<std::size_t>(context.rank)];
    for (const SavedTensor& tensor : context.replica.tensors()) {
      bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
    }
  });
  return all;
}

TEST(Hosts, ParametersAndOptimizerStatesAreTheSameBitsOnEveryHostAndInEveryRun) {
  RankSetup clipped = lenet();
  clipped.optimizer.clip_norm = 0.05;
  for (const RankSetup& setup : {lenet(), clipped, resnet8()}) {
    const auto first = bytes_of_ranks(on_hosts(setup, {3, 1, 2}));
    for (const auto& bytes : first) EXPECT_TRUE(bytes == first[0]);
    EXPECT_TRUE(first == bytes_of_ranks(on_hosts(setup, {3, 1, 2})));
  }
}

}  // namespace
}  // namespace lockstep::runtime::test
