// What the conformance of single ops does not show: bits, faults that must not be hidden, refusals.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/cpu/kernels.h"
#include "engine/error.h"
#include "engine/executor.h"
#include "engine/ops/ops.h"
#include "engine/passes.h"
#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using cpu::Isa;
using reference::Tensor;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Layer {
  std::int64_t images, size, inputs, outputs, kernel, pad;
};

// The three passes of a convolution with stride 1.
std::vector<NodeCase> passes_of(const Layer& l) {
  const std::int64_t out = l.size + 2 * l.pad - l.kernel + 1;
  const Operand x{random_tensor({l.images, l.size, l.size, l.inputs}, 1)};
  const Operand w{random_tensor({l.outputs, l.inputs, l.kernel, l.kernel}, 2), DType::f32,
                  Role::parameter};
  const Operand b{random_tensor({l.outputs}, 3), DType::f32, Role::parameter};
  const Operand dy{random_tensor({l.images, out, out, l.outputs}, 4)};
  const Attributes window{{"stride", std::int64_t{1}}, {"pad", l.pad}};
  Attributes weights = window, data = window;
  weights.set("kernel_h", l.kernel);
  weights.set("kernel_w", l.kernel);
  weights.set("bias", std::int64_t{1});
  data.set("height", l.size);
  data.set("width", l.size);
  return {
      {.name = "conv", .op = "conv2d", .attributes = window, .inputs = {x, w, b}},
      {.name = "conv", .op = "conv2d_backward_weights", .attributes = weights, .inputs = {x, dy}},
      {.name = "conv", .op = "conv2d_backward_data", .attributes = data, .inputs = {w, dy}}};
}

// Those that have hand-written kernels, with batches of several pieces and one that is not full.
std::vector<Layer> small_layers() {
  return {{64, 28, 1, 6, 5, 2}, {70, 14, 6, 16, 5, 0}, {33, 12, 3, 16, 3, 1}};
}

TEST(Kernels, SmallConvolutionsHaveTheSameBitsOnAnyNumberOfThreads) {
  if (cpu::best_isa() != Isa::avx512) GTEST_SKIP() << "SKIPPED: no AVX-512";
  for (const Layer& layer : small_layers()) {
    for (const NodeCase& pass : passes_of(layer)) {
      const Outputs one = run_node(pass, cpu::kernels(1));
      for (int threads : {2, 3}) {
        EXPECT_EQ(run_node(pass, cpu::kernels(threads)).bytes, one.bytes)
            << pass.op << " on " << threads << " threads";
      }
    }
  }
}

// Shared out by rows and by columns, in shares that are not equal.
TEST(Kernels, PackedProductsHaveTheSameBitsOnAnyNumberOfThreads) {
  if (cpu::best_isa() != Isa::avx512) GTEST_SKIP() << "SKIPPED: no AVX-512";
  for (const auto& [rows, outputs] : {std::pair{250, 70}, std::pair{30, 333}}) {
    const NodeCase product{
        .name = "fc",
        .op = "linear",
        .inputs = {{random_tensor({rows, 600}, 1)},
                   {random_tensor({outputs, 600}, 2), DType::f32, Role::parameter},
                   {random_tensor({outputs}, 3), DType::f32, Role::parameter}}};
    const Outputs one = run_node(product, cpu::kernels(1));
    for (int threads : {2, 3, 7}) {
      EXPECT_EQ(run_node(product, cpu::kernels(threads)).bytes, one.bytes)
          << rows << " rows on " << threads << " threads";
    }
  }
}

TEST(Kernels, HandWrittenConvolutionsAgreeWithTheLibraryOnWholeBatches) {
  if (cpu::best_isa() != Isa::avx512) GTEST_SKIP() << "SKIPPED: no AVX-512";
  for (const Layer& layer : small_layers()) {
    for (const NodeCase& pass : passes_of(layer)) {
      const Outputs own = run_node(pass, cpu::kernels(1));
      const Outputs library = run_node(pass, cpu::kernels(1, Isa::portable));
      for (std::size_t o = 0; o < own.tensors.size(); ++o) {
        // Roundings of sums of up to 64 * 784 products; a product too many or too few is 0.3 or so.
        ASSERT_THAT(own.tensors[o].values,
                    testing::Pointwise(testing::DoubleNear(0.01), library.tensors[o].values))
            << pass.op << " output " << o;
      }
    }
  }
}

// A NaN that a relu or a pooling swallowed would leave the loss finite and poison the weights.
TEST(Kernels, NanPassesActivationsAndPooling) {
  for (Isa isa : isas()) {
    const KernelTable kernels = cpu::kernels(1, isa);
    Tensor image = random_tensor({1, 4, 6, 6}, 1);
    image.at(0, 1, 2, 3) = kNan;
    for (std::int64_t relu : {0, 1}) {
      const Outputs pooled = run_node(
          {.name = "pool",
           .op = "max_pool",
           .attributes = {{"size", std::int64_t{2}}, {"stride", std::int64_t{2}}, {"relu", relu}},
           .inputs = {{image}}},
          kernels);
      EXPECT_TRUE(std::isnan(pooled.tensors[0].at(0, 0, 1, 3)));
      EXPECT_FALSE(std::isnan(pooled.tensors[0].at(0, 0, 1, 2)));
    }
    const Outputs relu = run_node({.name = "relu", .op = "relu", .inputs = {{image}}}, kernels);
    EXPECT_TRUE(std::isnan(relu.tensors[0].at(0, 1, 2, 3)));

    Tensor rows = random_tensor({3, 20}, 2);
    rows.at(1, 7) = kNan;
    const Outputs linear =
        run_node({.name = "fc",
                  .op = "linear",
                  .attributes = {{"relu", std::int64_t{1}}},
                  .inputs = {{rows}, {random_tensor({9, 20}, 3), DType::f32, Role::parameter}, {}}},
                 kernels);
    for (std::int64_t o = 0; o < 9; ++o) {
      EXPECT_TRUE(std::isnan(linear.tensors[0].at(1, o)));
      EXPECT_FALSE(std::isnan(linear.tensors[0].at(0, o)));
    }
  }
}

NodeCase loss_of(Tensor logits, Tensor labels, Tensor weights) {
  return {
      .name = "loss",
      .op = "softmax_cross_entropy",
      .inputs = {{std::move(logits)},
                 {std::move(labels), DType::i32},
                 {std::move(weights)},
                 {Tensor({static_cast<std::int64_t>(sizeof(StepState))}), DType::u8, Role::state}}};
}

TEST(Loss, PaddingAddsNothingWhateverItsLogitsAre) {
  const Outputs loss = run_node(loss_of(tensor_of({2, 2}, {0, 0, kNan, kNan}),
                                        tensor_of({2}, {1, 77}), tensor_of({2}, {1, 0})),
                                cpu::kernels(1));
  EXPECT_NEAR(loss.tensors[0][0], std::log(2.0), 1e-6);
  EXPECT_EQ(loss.tensors[0][1], 1);
  EXPECT_EQ(loss.tensors[1][1], 0);
}

TEST(Loss, ALabelThatIsNoClassMakesItNan) {
  for (double label : {-2.0, 2.0}) {
    const Outputs loss =
        run_node(loss_of(tensor_of({1, 2}, {0, 1}), tensor_of({1}, {label}), tensor_of({1}, {1})),
                 cpu::kernels(1));
    EXPECT_TRUE(std::isnan(loss.tensors[0][0]));
  }
}

Outputs running(const std::vector<double>& statistics) {
  return run_node({.name = "running",
                   .op = "running_statistics",
                   .attributes = {{"momentum", 0.5}},
                   .inputs = {{tensor_of({3}, statistics), DType::f64},
                              {tensor_of({1}, {2}), DType::f32, Role::buffer},
                              {tensor_of({1}, {3}), DType::f32, Role::buffer},
                              {}}},
                  cpu::kernels(1));
}

TEST(RunningStatistics, MoveTowardsTheBatch) {
  const Outputs moved = running({8, 40, 2});  // mean 4, variance 4, unbiased 8
  EXPECT_EQ(moved.tensors[0][0], 3);
  EXPECT_EQ(moved.tensors[1][0], 5.5);
}

TEST(RunningStatistics, IgnoreWhatIsNotFiniteAndSingleElements) {
  const std::vector<std::vector<double>> bad{{kNan, 1, 4}, {1, HUGE_VAL, 4}, {1, 1, 1}, {0, 0, 0}};
  for (const auto& statistics : bad) {
    const Outputs kept = running(statistics);
    EXPECT_EQ(kept.tensors[0][0], 2);
    EXPECT_EQ(kept.tensors[1][0], 3);
  }
}

TEST(BatchNorm, ABatchOfPaddingAloneStaysFinite) {
  const Outputs out = run_node({.name = "norm",
                                .op = "batch_norm",
                                .attributes = {{"epsilon", 1e-5}},
                                .inputs = {{random_tensor({1, 2, 2, 3}, 1)},
                                           {Tensor({7}), DType::f64},
                                           {random_tensor({3}, 2), DType::f32, Role::parameter},
                                           {random_tensor({3}, 3), DType::f32, Role::parameter},
                                           {},
                                           {tensor_of({1}, {0})}}},
                               cpu::kernels(1));
  for (double v : out.tensors[0].values) EXPECT_TRUE(std::isfinite(v));
}

TEST(Kernels, LessThanOneThreadIsRefused) {
  EXPECT_THROW((void)cpu::kernels(0), Error);
}

TEST(Kernels, ALayoutThatAnotherTableMadeIsRefusedByName) {
  const OpTable ops = standard_ops();
  const DerivedWeight foreign{.parameter = "conv.weight",
                              .shape = {16, 3, 3, 3},
                              .layout = {.text = "of another device", .bytes = 4096}};
  const Graph graph = refreshed(Graph(), ops, std::vector<DerivedWeight>{foreign});
  PersistentPlacement placement;
  placement.place_parameters(graph, {Bucket{.parameters = {"conv.weight"}}});
  placement.place(graph);
  HeapMemory memory;
  Plan plan = plan_memory(place_events(graph), ops, placement);
  const Arenas arenas(plan.arena_bytes, memory);
  try {
    Program program(std::move(plan), cpu::kernels(1), arenas);
    FAIL() << "a reorder was bound to an unknown layout";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("of another device"));
    EXPECT_THAT(error.what(), testing::HasSubstr("conv.weight"));
  }
}

// The same text must come from every process: ranks compare it, and derived weights are named by
// it.
TEST(Kernels, ALayoutsTextIsTheSameFromEveryTable) {
  auto text = [] {
    const OpTable ops = standard_ops();
    Graph graph;
    const ValueId x = graph.add_value({.name = "x", .shape = {4, 8, 8, 16}, .role = Role::input});
    const ValueId w =
        graph.add_value({.name = "w", .shape = {32, 16, 3, 3}, .role = Role::parameter});
    graph.set_result(
        "y", emit(graph, ops,
                  {.op = "conv2d",
                   .name = "conv",
                   .inputs = {x, w, {}},
                   .outputs = {},
                   .attributes = {{"stride", std::int64_t{2}}, {"pad", std::int64_t{1}}}})[0]);
    const auto derived = derived_weights(layout(std::move(graph), ops, cpu::kernels(1)));
    return derived.empty() ? std::string() : derived[0].layout.text;
  };
  EXPECT_THAT(text(), testing::HasSubstr("32x16x3x3"));
  EXPECT_EQ(text(), text());
}

TEST(Kernels, AProductInBf16ReadsADerivedWeightInBf16) {
  if (cpu::best_isa() != Isa::avx512) GTEST_SKIP() << "SKIPPED: no AVX-512";
  const OpTable ops = standard_ops();
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .shape = {4, 8}, .role = Role::input});
  const ValueId w = graph.add_value({.name = "w", .shape = {16, 8}, .role = Role::parameter});
  graph.set_result("y", emit(graph, ops,
                             {.op = "linear",
                              .name = "fc",
                              .inputs = {x, w, {}},
                              .outputs = {},
                              .attributes = {{"compute", std::string("bf16")}}})[0]);
  const KernelTable in_fp32 = cpu::kernels(1, Isa::avx512, cpu::LowProducts::fp32);
  const KernelTable in_bf16 = cpu::kernels(1, Isa::avx512, cpu::LowProducts::onednn_bf16);
  EXPECT_TRUE(derived_weights(layout(graph, ops, in_fp32)).empty());
  const auto derived = derived_weights(layout(graph, ops, in_bf16));
  ASSERT_EQ(derived.size(), 1U);
  EXPECT_EQ(derived[0].dtype, DType::bf16);
  EXPECT_EQ(derived[0].parameter, "w");
}

TEST(Denormals, AreZeroAfterFlush) {
  cpu::flush_denormals();
  volatile float smallest = std::numeric_limits<float>::min();
  const float half = smallest / 2;
  EXPECT_EQ(half, 0.0F);
}

}  // namespace
}  // namespace lockstep::engine::test
