// What the passes make of a transformer's graph: a stream that is added to and normalised in turn,
// and a table that is used twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model.h"
#include "engine/passes.h"
#include "tests/engine/ops.h"

namespace lockstep::engine {
namespace {

using test::ops;
using ::testing::HasSubstr;

Graph training_of(const ModelFunction& model) {
  return build_training(model, ops(), {.sample = {4, 4, 1}, .batch = 2}, MicroStep::whole).graph;
}

ValueId norm(ModelBuilder& b, const std::string& name, ValueId x) {
  Graph& graph = b.graph();
  const Shape columns{b.shape(x)[1]};
  const ValueId gamma =
      graph.add_value({.name = name + ".weight", .shape = columns, .role = Role::parameter});
  const ValueId beta =
      graph.add_value({.name = name + ".bias", .shape = columns, .role = Role::parameter});
  return emit(graph, ops(),
              {.op = "layer_norm",
               .name = name,
               .inputs = {x, {}, gamma, beta},
               .outputs = {},
               .attributes = {{"epsilon", 1e-5}}})[0];
}

// A stream that is added to and normalised, twice; both norms read it, the first addition too.
ModelFunction residual_stream() {
  return [](ModelBuilder& b, ValueId image) {
    const ValueId stream = b.linear("in", b.flatten("flatten", image), 4);
    const ValueId first = b.linear("fc1", norm(b, "ln1", stream), 4);
    const ValueId middle = b.add("add1", first, stream);
    const ValueId second = b.linear("fc2", norm(b, "ln2", middle), 4);
    return norm(b, "ln3", b.add("add2", second, middle));
  };
}

TEST(ResidualStream, MakesOneNodeOfAnAdditionAndTheNormOfItsSumWhichLaterNodesGoOnReading) {
  const std::string text = fuse(training_of(residual_stream()), ops()).dump();
  EXPECT_THAT(text, HasSubstr("ln1: layer_norm(in.out, -, ln1.weight, ln1.bias) epsilon=1e-05 -> "
                              "ln1.out f32[2x4], ln1.statistics f32[2x2]\n"));
  EXPECT_THAT(text,
              HasSubstr("ln2: layer_norm(fc1.out, in.out, ln2.weight, ln2.bias) epsilon=1e-05 -> "
                        "ln2.out f32[2x4], ln2.statistics f32[2x2], add1.out f32[2x4]\n"));
  EXPECT_THAT(text,
              HasSubstr("ln3: layer_norm(fc2.out, add1.out, ln3.weight, ln3.bias) epsilon=1e-05 -> "
                        "ln3.out f32[2x4], ln3.statistics f32[2x2], add2.out f32[2x4]\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr(": add(")));
}

TEST(ResidualStream, LeavesAnAdditionWhoseSumIsReadBeforeTheNorm) {
  const ModelFunction early = [](ModelBuilder& b, ValueId image) {
    const ValueId x = b.linear("in", b.flatten("flatten", image), 4);
    const ValueId sum = b.add("add", x, b.relu("relu", x));
    const ValueId read = b.linear("fc", sum, 4);
    return b.add("last", read, norm(b, "ln", sum));
  };
  const std::string text = fuse(training_of(early), ops()).dump();
  EXPECT_THAT(text, HasSubstr("add: add(in.out, relu.out) -> add.out"));
  EXPECT_THAT(text, HasSubstr("ln: layer_norm(add.out, -, ln.weight, ln.bias)"));
}

TEST(ResidualStream, AddsTheStreamsLaterGradientsInTheNormsOwnPass) {
  const std::string text = differentiate(fuse(training_of(residual_stream()), ops()), ops()).dump();
  EXPECT_THAT(text, HasSubstr("ln3.backward: layer_norm_backward(add2.out, ln3.statistics, "
                              "ln3.weight, loss.backward.logits, -)"));
  EXPECT_THAT(text, HasSubstr("ln2.backward: layer_norm_backward(add1.out, ln2.statistics, "
                              "ln2.weight, fc2.backward_data.input, ln3.backward.input)"));
  EXPECT_THAT(text, HasSubstr("ln1.backward: layer_norm_backward(in.out, ln1.statistics, "
                              "ln1.weight, fc1.backward_data.input, ln2.backward.input)"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("gradient_sum")));
}

// A table that both looks tokens up and gives their logits.
Graph tied_training(MicroStep micro_step) {
  const ModelFunction tied = [](ModelBuilder& b, ValueId tokens) {
    Graph& graph = b.graph();
    const ValueId table =
        graph.add_value({.name = "wte.weight", .shape = {5, 4}, .role = Role::parameter});
    const ValueId positions =
        graph.add_value({.name = "wpe.weight", .shape = {3, 4}, .role = Role::parameter});
    const ValueId x = emit(graph, ops(),
                           {.op = "embedding",
                            .name = "embedding",
                            .inputs = {tokens, table, positions},
                            .outputs = {}})[0];
    return emit(graph, ops(),
                {.op = "linear", .name = "head", .inputs = {x, table, {}}, .outputs = {}})[0];
  };
  return differentiate(
      build_training(tied, ops(), {.sample = {.context = 3}, .batch = 2}, micro_step).graph, ops());
}

TEST(TiedTable, AddsTheTokensGradientToTheHeads) {
  EXPECT_THAT(tied_training(MicroStep::whole).dump(),
              HasSubstr("embedding.backward_tokens: embedding_backward_tokens(tokens, "
                        "head.backward_data.input, head.backward_weights.weight) vocabulary=5 -> "
                        "wte.weight.grad f32[5x4] = head.backward_weights.weight\n"));
}

TEST(TiedTable, PutsAllPartsOfAGradientInTheBucket) {
  const Graph graph = tied_training(MicroStep::whole);
  for (const Node& node : graph.nodes()) {
    if (node.name != "head.backward_weights") continue;
    EXPECT_EQ(graph.value(node.outputs[0]).role, Role::gradient);
    EXPECT_EQ(graph.value(graph.value(node.outputs[0]).of).name, "wte.weight");
  }
}

TEST(TiedTable, IsUpdatedOnceAndFromTheWholeSum) {
  OptimizerOptions adamw;
  adamw.kind = OptimizerKind::adamw;
  for (MicroStep micro_step : {MicroStep::whole, MicroStep::last}) {
    const std::string text = update(tied_training(micro_step), ops(), adamw, micro_step).dump();
    const std::string gradient =
        micro_step == MicroStep::whole ? "wte.weight.grad" : "wte.weight.grad.sum";
    const std::size_t first = text.find("adamw(wte.weight, " + gradient + ",");
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find("adamw(wte.weight,", first + 1), std::string::npos);
  }
  EXPECT_THAT(
      update(tied_training(MicroStep::last), ops(), adamw, MicroStep::last).dump(),
      HasSubstr("wte.weight.grad.accumulate: accumulate(wte.weight.grad, wte.weight.grad.micro)"));
}

TEST(Cost, OfAttentionIsThatOfQueriesAndTheKeysThatTheySee) {
  Graph graph;
  const ValueId qkv = graph.add_value({.name = "qkv", .shape = {2 * 5, 3 * 6}});
  emit(graph, ops(),
       {.op = "attention",
        .name = "attention",
        .inputs = {qkv, {}, {}},
        .outputs = {},
        .attributes = {{"heads", std::int64_t{2}},
                       {"context", std::int64_t{5}},
                       {"dropout", 0.0},
                       {"stream", std::int64_t{0}}}});
  // 15 pairs a head and sample, 3 columns, a multiplication and an addition, two products.
  EXPECT_EQ(ops().find("attention").cost(graph, graph.node({0})).flops, 2 * 2 * 15 * 3 * 2 * 2);
}

}  // namespace
}  // namespace lockstep::engine
