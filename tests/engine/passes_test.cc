// Passes as text a person can read: a small network before and after each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/error.h"
#include "engine/model.h"
#include "engine/passes.h"
#include "tests/engine/ops.h"

namespace lockstep::engine {
namespace {

using test::ops;
using ::testing::HasSubstr;

ModelFunction small_net() {
  return [](ModelBuilder& b, ValueId image) {
    ValueId x = b.convolution("conv", image, {.channels = 4, .kernel = 3, .pad = 1});
    x = b.max_pool("pool", b.relu("relu1", x), {.size = 2, .stride = 2});
    x = b.relu("relu2", b.linear("fc1", b.flatten("flatten", x), 5));
    return b.linear("fc2", x, 3);
  };
}

ModelFunction residual_net() {
  return [](ModelBuilder& b, ValueId image) {
    ValueId x = b.convolution("conv1", image, {.channels = 4, .kernel = 1, .bias = false});
    x = b.relu("relu1", b.batch_norm("bn1", x));
    ValueId y =
        b.batch_norm("bn2", b.convolution("conv2", x, {.channels = 4, .kernel = 1, .bias = false}));
    x = b.relu("relu2", b.add("add", y, x));
    return b.linear("fc", b.average_pool("pool", x), 2);
  };
}

Graph training(const ModelFunction& model, MicroStep micro_step = MicroStep::whole) {
  return build_training(model, ops(), {.sample = {4, 4, 1}, .batch = 2}, micro_step).graph;
}

TEST(Build, WritesDownTheModelAndItsLoss) {
  EXPECT_EQ(
      training(small_net()).dump(),
      "advance: advance_state(state, global_weight) -> advance.state u8[72] = state\n"
      "conv: conv2d(images, conv.weight, conv.bias) pad=1 stride=1 -> conv.out f32[2x4x4x4]\n"
      "relu1: relu(conv.out) -> relu1.out f32[2x4x4x4]\n"
      "pool: max_pool(relu1.out) pad=0 size=2 stride=2 -> pool.out f32[2x2x2x4], pool.index "
      "u8[2x2x2x4]\n"
      "flatten: flatten(pool.out) -> flatten.out f32[2x16]\n"
      "fc1: linear(flatten.out, fc1.weight, fc1.bias) -> fc1.out f32[2x5]\n"
      "relu2: relu(fc1.out) -> relu2.out f32[2x5]\n"
      "fc2: linear(relu2.out, fc2.weight, fc2.bias) -> fc2.out f32[2x3]\n"
      "loss: softmax_cross_entropy(fc2.out, labels, sample_weights, advance.state) -> loss.totals "
      "f64[3], "
      "loss.lse f32[2]\n");
}

TEST(Build, NamesTheLayerWhoseShapesDoNotFit) {
  const ModelFunction wrong = [](ModelBuilder& b, ValueId image) {
    return b.linear("head", b.flatten("flatten", b.convolution("huge", image, {.kernel = 9})), 2);
  };
  try {
    (void)training(wrong);
    FAIL() << "a 9x9 kernel does not fit a 4x4 image";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("conv2d \"huge\": the kernel is larger than the padded image"));
  }
}

TEST(Fuse, MovesReluBehindThePoolAndIntoTheLinearLayer) {
  EXPECT_EQ(
      fuse(training(small_net()), ops()).dump(),
      "advance: advance_state(state, global_weight) -> advance.state u8[72] = state\n"
      "conv: conv2d(images, conv.weight, conv.bias) pad=1 stride=1 -> conv.out f32[2x4x4x4]\n"
      "pool: max_pool(conv.out) pad=0 relu=1 size=2 stride=2 -> pool.out f32[2x2x2x4], pool.index "
      "u8[2x2x2x4]\n"
      "flatten: flatten(pool.out) -> flatten.out f32[2x16]\n"
      "fc1: linear(flatten.out, fc1.weight, fc1.bias) relu=1 -> relu2.out f32[2x5]\n"
      "fc2: linear(relu2.out, fc2.weight, fc2.bias) -> fc2.out f32[2x3]\n"
      "loss: softmax_cross_entropy(fc2.out, labels, sample_weights, advance.state) -> "
      "loss.totals f64[3], "
      "loss.lse f32[2]\n");
}

TEST(Fuse, MakesOneNodeOfNormAddAndRelu) {
  const std::string text = fuse(training(residual_net()), ops()).dump();
  EXPECT_THAT(
      text,
      HasSubstr(
          "bn2: batch_norm(conv2.out, bn2.statistics.statistics, bn2.weight, bn2.bias, relu1.out, "
          "sample_weights) epsilon=1e-05 relu=1 -> relu2.out f32[2x4x4x4]\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("relu2: relu")));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("add: add")));
}

TEST(Fuse, LeavesAValueAloneThatIsReadTwice) {
  const ModelFunction twice = [](ModelBuilder& b, ValueId image) {
    ValueId x = b.linear("fc", b.flatten("flatten", image), 3);
    return b.add("add", x, b.relu("relu", x));
  };
  EXPECT_THAT(fuse(training(twice), ops()).dump(), HasSubstr("relu: relu(fc.out)"));
}

TEST(Differentiate, AppendsWeightsBeforeDataFromTheLastLayerToTheFirst) {
  const std::string text = differentiate(fuse(training(small_net()), ops()), ops()).dump();
  const std::string backward = text.substr(text.find("loss.backward"));
  EXPECT_EQ(
      backward,
      "loss.backward: softmax_cross_entropy_backward(fc2.out, loss.lse, labels, sample_weights, "
      "advance.state) -> "
      "loss.backward.logits f32[2x3]\n"
      "fc2.backward_weights: linear_backward_weights(relu2.out, loss.backward.logits) bias=1 -> "
      "fc2.weight.grad f32[3x5], fc2.bias.grad f32[3]\n"
      "fc2.backward_data: linear_backward_data(fc2.weight, loss.backward.logits) -> "
      "fc2.backward_data.input "
      "f32[2x5]\n"
      "fc1.relu_backward: relu_backward(relu2.out, fc2.backward_data.input) -> "
      "fc1.relu_backward.out f32[2x5]\n"
      "fc1.backward_weights: linear_backward_weights(flatten.out, fc1.relu_backward.out) bias=1 -> "
      "fc1.weight.grad f32[5x16], fc1.bias.grad f32[5]\n"
      "fc1.backward_data: linear_backward_data(fc1.weight, fc1.relu_backward.out) -> "
      "fc1.backward_data.input "
      "f32[2x16]\n"
      "flatten.backward: unflatten(fc1.backward_data.input) channels=4 height=2 width=2 -> "
      "flatten.backward.image f32[2x2x2x4]\n"
      "pool.backward: max_pool_backward(flatten.backward.image, pool.index) height=4 pad=0 size=2 "
      "stride=2 width=4 -> "
      "pool.backward.image f32[2x4x4x4]\n"
      "conv.backward_weights: conv2d_backward_weights(images, pool.backward.image) bias=1 "
      "kernel_h=3 kernel_w=3 "
      "pad=1 stride=1 -> conv.weight.grad f32[4x1x3x3], conv.bias.grad f32[4]\n");
}

TEST(Differentiate, AddsTheGradientsOfAValueThatIsReadTwice) {
  const std::string text = differentiate(fuse(training(residual_net()), ops()), ops()).dump();
  EXPECT_THAT(
      text,
      HasSubstr("relu1.out.gradient_sum0: add(bn2.backward.residual, conv2.backward_data.image)"));
}

TEST(Differentiate, NamesParametersThatTheLossDoesNotDependOn) {
  const ModelFunction unused = [](ModelBuilder& b, ValueId image) {
    ValueId x = b.flatten("flatten", image);
    (void)b.linear("forgotten", x, 7);
    return b.linear("fc", x, 3);
  };
  try {
    (void)differentiate(training(unused), ops());
    FAIL() << "forgotten.weight has no gradient";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("forgotten.weight, forgotten.bias"));
  }
}

OptimizerOptions adamw() {
  OptimizerOptions options;
  options.kind = OptimizerKind::adamw;
  options.weight_decay = 0.1;
  return options;
}

TEST(Update, DecaysMatricesAndNotBiases) {
  const std::string text =
      update(differentiate(training(small_net()), ops()), ops(), adamw(), MicroStep::whole).dump();
  EXPECT_THAT(
      text,
      HasSubstr("fc1.weight.update: adamw(fc1.weight, fc1.weight.grad, fc1.weight.m, fc1.weight.v, "
                "advance.state, early, -) beta1=0.9 beta2=0.95 epsilon=1e-08 weight_decay=0.1 -> "
                "fc1.weight.new f32[5x16] = fc1.weight"));
  EXPECT_THAT(
      text,
      HasSubstr("fc1.bias.update: adamw(fc1.bias, fc1.bias.grad, fc1.bias.m, fc1.bias.v, "
                "advance.state, early, -) beta1=0.9 beta2=0.95 epsilon=1e-08 weight_decay=0 ->"));
}

TEST(Update, OnlyTheLastMicroStepUpdatesAndAllButTheFirstAccumulate) {
  auto text = [](MicroStep micro_step) {
    return update(differentiate(training(small_net(), micro_step), ops()), ops(), adamw(),
                  micro_step)
        .dump();
  };
  EXPECT_THAT(text(MicroStep::first), ::testing::Not(HasSubstr("adamw")));
  EXPECT_THAT(text(MicroStep::first), ::testing::Not(HasSubstr("accumulate")));
  EXPECT_THAT(text(MicroStep::middle), ::testing::Not(HasSubstr("adamw")));
  EXPECT_THAT(
      text(MicroStep::middle),
      HasSubstr("fc2.weight.grad.accumulate: accumulate(fc2.weight.grad, fc2.weight.grad.micro) -> "
                "fc2.weight.grad.sum f32[3x5] = fc2.weight.grad"));
  EXPECT_THAT(text(MicroStep::last),
              HasSubstr("fc2.weight.update: adamw(fc2.weight, fc2.weight.grad.sum,"));
}

TEST(Update, WithClippingWaitsForTheNormOfAllGradients) {
  OptimizerOptions options = adamw();
  options.clip_norm = 1.5;
  const std::string text =
      update(differentiate(training(small_net()), ops()), ops(), options, MicroStep::whole).dump();
  EXPECT_THAT(text, HasSubstr("clip: clip_scale("));
  EXPECT_THAT(text, HasSubstr("clip_norm=1.5 -> late f64[2]"));
  EXPECT_THAT(text, HasSubstr("advance.state, early, late) beta1"));
}

TEST(Schedule, DropsWhatNothingNeeds) {
  const ModelFunction wasteful = [](ModelBuilder& b, ValueId image) {
    ValueId x = b.flatten("flatten", image);
    (void)b.relu("unused", x);
    return b.linear("fc", x, 3);
  };
  EXPECT_THAT(schedule(training(wasteful), ops()).dump(), ::testing::Not(HasSubstr("unused")));
}

TEST(Schedule, OrdersByPhase) {
  Graph graph =
      update(differentiate(training(residual_net()), ops()), ops(), adamw(), MicroStep::whole);
  graph = schedule(std::move(graph), ops());
  Phase last = Phase::forward;
  for (const Node& node : graph.nodes()) {
    EXPECT_GE(node.phase, last) << node.name;
    last = node.phase;
  }
  EXPECT_EQ(last, Phase::update);
}

TEST(Precision, RefusesDoublesFromALowPrecisionOp) {
  Graph graph = training(small_net());
  graph.value(graph.node({1}).outputs[0]).dtype = DType::f64;
  EXPECT_THROW((void)precision(graph, ops(), Precision::fp32), Error);
}

TEST(LearningRate, FollowsItsSchedule) {
  Schedule schedule{.kind = ScheduleKind::cosine,
                    .peak = 0.1,
                    .final = 0.02,
                    .warmup_steps = 10,
                    .decay_steps = 110};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 0.01);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10), 0.1);
  EXPECT_NEAR(learning_rate(schedule, 60), 0.06, 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 110), 0.02);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 5000), 0.02);
  schedule.kind = ScheduleKind::linear;
  EXPECT_NEAR(learning_rate(schedule, 35), 0.08, 1e-12);
  schedule = {.kind = ScheduleKind::step, .peak = 1, .milestones = {30, 60}, .factor = 0.5};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 29), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 30), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 60), 0.25);
  schedule.kind = ScheduleKind::constant;
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1000), 1);
}

TEST(LearningRate, SurvivesTheWayThroughANodesAttributes) {
  const Schedule schedule{
      .kind = ScheduleKind::step, .peak = 0.3, .milestones = {4, 9}, .factor = 0.2};
  EXPECT_DOUBLE_EQ(learning_rate(schedule_from(to_attributes(schedule)), 7),
                   learning_rate(schedule, 7));
}

ModelFunction two_blocks() {
  return [](ModelBuilder& b, ValueId image) {
    ValueId x = b.flatten("flatten", image);
    for (const char* name : {"first", "second"}) {
      b.begin_block();
      x = b.relu(std::string(name) + ".relu", b.linear(std::string(name) + ".a", x, 4));
      x = b.linear(std::string(name) + ".b", x, 4);
    }
    b.end_blocks();
    return b.linear("head", x, 3);
  };
}

std::string backward_of(const Graph& graph) {
  const std::string text = graph.dump();
  return text.substr(text.find("loss.backward: "));
}

TEST(Recompute, RepeatsWhatABlockNeedsRightBeforeItsBackwardNodes) {
  const Graph graph =
      recompute(differentiate(fuse(training(two_blocks()), ops()), ops()), ops(), Recompute::block);
  const std::string backward = backward_of(graph);
  // What one block hands to the next is kept; what lies inside is made again.
  EXPECT_THAT(backward, HasSubstr("second.a.again: linear(first.b.out, second.a.weight, "
                                  "second.a.bias) relu=1 -> second.relu.out.again f32[2x4]\n"
                                  "second.b.backward_weights: "
                                  "linear_backward_weights(second.relu.out.again, "));
  EXPECT_THAT(backward, HasSubstr("first.a.again: linear(flatten.out, first.a.weight"));
  EXPECT_LT(backward.find("second.a.backward_data"), backward.find("first.a.again"));
  EXPECT_THAT(backward, Not(HasSubstr("second.b.again")));
  EXPECT_THAT(backward, Not(HasSubstr("head.again")));
}

TEST(Recompute, NoneChangesNothing) {
  const Graph before = differentiate(fuse(training(two_blocks()), ops()), ops());
  EXPECT_EQ(recompute(before, ops(), Recompute::none).dump(), before.dump());
}

TEST(Recompute, StatisticsOfABatchAreKept) {
  const ModelFunction net = [](ModelBuilder& b, ValueId image) {
    b.begin_block();
    ValueId x = b.convolution("conv", image, {.channels = 4, .kernel = 1, .bias = false});
    x = b.relu("relu", b.batch_norm("bn", x));
    b.end_blocks();
    return b.linear("fc", b.average_pool("pool", x), 2);
  };
  const std::string backward = backward_of(
      recompute(differentiate(fuse(training(net), ops()), ops()), ops(), Recompute::block));
  EXPECT_THAT(backward, HasSubstr("conv.again: conv2d("));
  EXPECT_THAT(backward, Not(HasSubstr("bn.statistics.again")));
}

TEST(Precision, StoresWhatProductsReadInBf16AndTheRestInF32) {
  const Graph graph = precision(training(small_net()), ops(), Precision::bf16);
  const std::string dump = graph.dump();
  // Read by products, through pools and relus: bf16. The logits are read by the loss alone.
  EXPECT_THAT(dump, HasSubstr("conv: conv2d(images, conv.weight, conv.bias) compute=bf16 pad=1 "
                              "stride=1 -> conv.out bf16[2x4x4x4]\n"));
  EXPECT_THAT(dump, HasSubstr("-> pool.out bf16[2x2x2x4], pool.index u8[2x2x2x4]\n"));
  EXPECT_THAT(dump, HasSubstr("fc1.bias) compute=bf16 -> fc1.out bf16[2x5]\n"));
  EXPECT_THAT(dump, HasSubstr("fc2.bias) compute=bf16 -> fc2.out f32[2x3]\n"));
  const std::string backward = backward_of(differentiate(fuse(graph, ops()), ops()));
  EXPECT_THAT(backward, HasSubstr("fc2.backward_data: linear_backward_data(fc2.weight, "
                                  "loss.backward.logits) compute=bf16 -> "
                                  "fc2.backward_data.input bf16[2x5]\n"));
  EXPECT_THAT(backward, HasSubstr("-> fc1.weight.grad f32[5x16], fc1.bias.grad f32[5]\n"));
  EXPECT_EQ(precision(training(small_net()), ops(), Precision::fp32).dump(),
            training(small_net()).dump());
}

}  // namespace
}  // namespace lockstep::engine
