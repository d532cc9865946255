#include "engine/model.h"

#include <cmath>

#include "engine/device/step_state.h"

namespace lockstep::engine {
namespace {

constexpr double kBatchNormEpsilon = 1e-5;  // torch's defaults
constexpr double kBatchNormMomentum = 0.1;

// torch's default for convolutions and linear layers: uniform within 1/sqrt(fan in), biases too.
Initializer default_uniform(std::int64_t fan_in) {
  return {Initializer::Kind::uniform, 1 / std::sqrt(static_cast<double>(fan_in))};
}

BuiltModel build(const ModelFunction& model, const OpTable& ops, const BatchShape& shape, Mode mode,
                 bool begins) {
  BuiltModel built;
  Graph& graph = built.graph;
  // Programs share persistent values by name, and the two modes have batches of different sizes.
  const std::string prefix = mode == Mode::training ? "" : "evaluation_";
  const SampleShape& sample = shape.sample;
  const ValueId samples =
      sample.is_tokens()
          ? graph.add_value({.name = prefix + "tokens",
                             .dtype = DType::i32,
                             .shape = {shape.batch, sample.context},
                             .role = Role::input})
          : graph.add_value({.name = prefix + "images",
                             .shape = {shape.batch, sample.height, sample.width, sample.channels},
                             .role = Role::input});
  const ValueId labels = graph.add_value({.name = prefix + "labels",
                                          .dtype = DType::i32,
                                          .shape = {shape.batch * sample.labels()},
                                          .role = Role::input});
  const ValueId weights = graph.add_value(
      {.name = prefix + "sample_weights", .shape = {shape.batch}, .role = Role::input});
  ValueId state = graph.add_value({.name = "state",
                                   .dtype = DType::u8,
                                   .shape = {static_cast<std::int64_t>(sizeof(StepState))},
                                   .role = Role::state});
  if (begins) {
    const ValueId global_weight =
        graph.add_value({.name = "global_weight", .shape = {1}, .role = Role::input});
    state = emit(graph, ops,
                 {.op = "advance_state",
                  .name = "advance",
                  .inputs = {state, global_weight},
                  .outputs = {}})[0];
  }
  ValueId rows;
  if (mode == Mode::training) {
    rows = graph.add_value(
        {.name = "sample_rows", .dtype = DType::i32, .shape = {shape.batch}, .role = Role::input});
  }
  ModelBuilder builder(graph, ops, mode,
                       {.sample_weights = weights, .sample_rows = rows, .state = state});
  const ValueId logits = model(builder, samples);
  const ValueId totals = emit(graph, ops,
                              {.op = "softmax_cross_entropy",
                               .name = "loss",
                               .inputs = {logits, labels, weights, state},
                               .outputs = {}})[0];
  graph.set_result("totals", totals);
  if (mode == Mode::evaluation) graph.set_result("logits", logits);
  graph.set_result("state", state);
  built.initial_values = builder.initial_values();
  return built;
}

}  // namespace

ValueId ModelBuilder::parameter(std::string name, Shape shape, Initializer initializer) {
  const ValueId id = graph_.add_value(
      {.name = std::move(name), .shape = std::move(shape), .role = Role::parameter});
  initial_values_.push_back({id, initializer});
  return id;
}

ValueId ModelBuilder::buffer(std::string name, Shape shape, double value) {
  const ValueId id =
      graph_.add_value({.name = std::move(name), .shape = std::move(shape), .role = Role::buffer});
  initial_values_.push_back({id, {Initializer::Kind::constant, value}});
  return id;
}

ValueId ModelBuilder::apply(std::string op, const std::string& name, std::vector<ValueId> inputs,
                            Attributes attributes) {
  return emit(graph_, ops_,
              {.op = std::move(op),
               .name = name,
               .inputs = std::move(inputs),
               .outputs = {},
               .attributes = std::move(attributes),
               .block = block_})[0];
}

ValueId ModelBuilder::convolution(const std::string& name, ValueId x, Convolution options) {
  const std::int64_t in = shape(x)[3];
  const std::int64_t window = options.kernel * options.kernel;
  const Initializer uniform = default_uniform(in * window);
  const Initializer weight =
      options.initial == Initializer::Kind::uniform
          ? uniform
          : Initializer{Initializer::Kind::normal,
                        std::sqrt(2.0 / static_cast<double>(options.channels * window))};
  const ValueId w =
      parameter(name + ".weight", {options.channels, in, options.kernel, options.kernel}, weight);
  const ValueId b =
      options.bias ? parameter(name + ".bias", {options.channels}, uniform) : ValueId{};
  return apply("conv2d", name, {x, w, b}, {{"stride", options.stride}, {"pad", options.pad}});
}

ValueId ModelBuilder::linear(const std::string& name, ValueId x, std::int64_t features) {
  const std::int64_t in = shape(x)[1];
  const ValueId w = parameter(name + ".weight", {features, in}, default_uniform(in));
  const ValueId b = parameter(name + ".bias", {features}, default_uniform(in));
  return apply("linear", name, {x, w, b}, {});
}

ValueId ModelBuilder::projection(const std::string& name, ValueId x, std::int64_t features,
                                 double deviation) {
  const ValueId w =
      parameter(name + ".weight", {shape(x)[1], features}, {Initializer::Kind::normal, deviation});
  const ValueId b = parameter(name + ".bias", {features}, {Initializer::Kind::constant, 0});
  return apply("linear", name, {x, w, b}, {{"weight_layout", std::string("in_out")}});
}

ModelBuilder::Embedded ModelBuilder::embedding(const std::string& name, ValueId tokens,
                                               const Embedding& options) {
  const Initializer normal{Initializer::Kind::normal, options.deviation};
  const ValueId token_table =
      parameter(options.token_table + ".weight", {options.vocabulary, options.width}, normal);
  const ValueId position_table =
      parameter(options.position_table + ".weight", {options.positions, options.width}, normal);
  return {apply("embedding", name, {tokens, token_table, position_table}, {}), token_table};
}

ValueId ModelBuilder::tied_linear(const std::string& name, ValueId x, ValueId table) {
  return apply("linear", name, {x, table, ValueId{}}, {});
}

ValueId ModelBuilder::layer_norm(const std::string& name, ValueId x, double epsilon) {
  const Shape width{shape(x)[1]};
  const ValueId gamma = parameter(name + ".weight", width, {Initializer::Kind::constant, 1});
  const ValueId beta = parameter(name + ".bias", width, {Initializer::Kind::constant, 0});
  return apply("layer_norm", name, {x, ValueId{}, gamma, beta}, {{"epsilon", epsilon}});
}

ValueId ModelBuilder::attention(const std::string& name, ValueId qkv, Attention options) {
  const bool drops = mode_ == Mode::training && options.dropout > 0;
  return apply(
      "attention", name,
      {qkv, drops ? surroundings_.sample_rows : ValueId{}, drops ? surroundings_.state : ValueId{}},
      {{"heads", options.heads},
       {"context", options.context},
       {"dropout", drops ? options.dropout : 0.0},
       {"stream", drops ? dropouts_++ : std::int64_t{0}}});
}

ValueId ModelBuilder::gelu(const std::string& name, ValueId x, Gelu form) {
  return apply("gelu", name, {x},
               {{"approximation", std::string(form == Gelu::tanh ? "tanh" : "none")}});
}

ValueId ModelBuilder::dropout(const std::string& name, ValueId x, double probability) {
  if (mode_ == Mode::evaluation || probability == 0) return x;
  return apply("dropout", name, {x, surroundings_.sample_rows, surroundings_.state},
               {{"probability", probability}, {"stream", dropouts_++}});
}

ValueId ModelBuilder::batch_norm(const std::string& name, ValueId x) {
  const Shape channels{shape(x)[3]};
  const ValueId gamma = parameter(name + ".weight", channels, {Initializer::Kind::constant, 1});
  const ValueId beta = parameter(name + ".bias", channels, {Initializer::Kind::constant, 0});
  const ValueId mean = buffer(name + ".running_mean", channels, 0);
  const ValueId variance = buffer(name + ".running_var", channels, 1);
  const Attributes attributes{{"epsilon", kBatchNormEpsilon}};
  if (mode_ == Mode::evaluation) {
    return apply("batch_norm_inference", name, {x, gamma, beta, mean, variance, ValueId{}},
                 attributes);
  }
  const ValueId statistics =
      apply("batch_norm_statistics", name + ".statistics", {x, surroundings_.sample_weights}, {});
  emit(graph_, ops_,
       {.op = "running_statistics",
        .name = name + ".running",
        .inputs = {statistics, mean, variance, ValueId{}},
        .outputs = {},
        .attributes = {{"momentum", kBatchNormMomentum}},
        .phase = Phase::update});
  return apply("batch_norm", name,
               {x, statistics, gamma, beta, ValueId{}, surroundings_.sample_weights}, attributes);
}

ValueId ModelBuilder::relu(const std::string& name, ValueId x) {
  return apply("relu", name, {x}, {});
}

ValueId ModelBuilder::add(const std::string& name, ValueId a, ValueId b) {
  return apply("add", name, {a, b}, {});
}

ValueId ModelBuilder::max_pool(const std::string& name, ValueId x, MaxPool options) {
  return apply("max_pool", name, {x},
               {{"size", options.size}, {"stride", options.stride}, {"pad", options.pad}});
}

ValueId ModelBuilder::average_pool(const std::string& name, ValueId x) {
  return apply("average_pool", name, {x}, {});
}

ValueId ModelBuilder::flatten(const std::string& name, ValueId x) {
  return apply("flatten", name, {x}, {});
}

BuiltModel build_training(const ModelFunction& model, const OpTable& ops, const BatchShape& shape,
                          MicroStep micro_step) {
  return build(model, ops, shape, Mode::training, begins_step(micro_step));
}

BuiltModel build_evaluation(const ModelFunction& model, const OpTable& ops,
                            const BatchShape& shape) {
  return build(model, ops, shape, Mode::evaluation, false);
}

}  // namespace lockstep::engine
