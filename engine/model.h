// Building a model: a function that is given a builder and the samples (images, or windows of
// tokens) and returns logits, a row a label.
//
//     ModelFunction net = [](ModelBuilder& b, ValueId image) {
//       ValueId x = b.convolution("conv1", image, {.channels = 6, .kernel = 5, .pad = 2});
//       x = b.max_pool("pool1", b.relu("relu1", x), {.size = 2, .stride = 2});
//       return b.linear("fc", b.flatten("flatten", x), 10);
//     };
//     BuiltModel model = build_training(net, standard_ops(), {.sample = {28, 28, 1}, .batch = 64},
//     MicroStep::whole);
//
// Parameters are named "<layer>.weight", "<layer>.bias", as torch names them, and lie in torch's
// layouts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/graph.h"
#include "engine/op.h"
#include "engine/passes.h"

namespace lockstep::engine {

// How a parameter or buffer begins.
struct Initializer {
  enum class Kind { uniform, normal, constant } kind = Kind::constant;
  double value =
      0;  // uniform: bound of [-value, value); normal: standard deviation; constant: the value
};

struct InitialValue {
  ValueId value;
  Initializer initializer;
};

// What one sample is: an image, or a window of `context` tokens with a label each.
struct SampleShape {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t context = 0;
  [[nodiscard]] bool is_tokens() const { return context > 0; }
  [[nodiscard]] std::int64_t labels() const { return is_tokens() ? context : 1; }
};

enum class Mode { training, evaluation };

class LOCKSTEP_API ModelBuilder {
 public:
  // The values that layers take beside their own input.
  struct Surroundings {
    ValueId sample_weights;  // f32 [batch]
    ValueId sample_rows;     // i32 [batch]; invalid in evaluation
    ValueId state;
  };
  ModelBuilder(Graph& graph, const OpTable& ops, Mode mode, Surroundings surroundings)
      : graph_(graph), ops_(ops), mode_(mode), surroundings_(surroundings) {}

  struct Convolution {
    std::int64_t channels = 1, kernel = 1, stride = 1, pad = 0;
    bool bias = true;
    Initializer::Kind initial =
        Initializer::Kind::uniform;  // uniform: torch's default; normal: Kaiming, fan out
  };
  ValueId convolution(const std::string& name, ValueId x, Convolution options);
  ValueId linear(const std::string& name, ValueId x, std::int64_t features);
  // A linear layer whose weight lies as (inputs, outputs), as GPT-2's checkpoints have it; normal
  // weights of that standard deviation, biases 0.
  ValueId projection(const std::string& name, ValueId x, std::int64_t features, double deviation);
  // Rows of two tables, normal with that standard deviation, added: x [batch * context, width].
  struct Embedding {
    std::string token_table, position_table;  // names of the parameters, without ".weight"
    std::int64_t vocabulary = 0, positions = 0, width = 0;
    double deviation = 0.02;
  };
  struct Embedded {
    ValueId x;
    ValueId token_table;
  };
  Embedded embedding(const std::string& name, ValueId tokens, const Embedding& options);
  // x [rows, width] times the transpose of a table [vocabulary, width] that another layer owns.
  ValueId tied_linear(const std::string& name, ValueId x, ValueId table);
  ValueId layer_norm(const std::string& name, ValueId x, double epsilon = 1e-5);
  // Causal self-attention of qkv [batch * context, 3 * width]: q, k, v side by side, heads in each.
  struct Attention {
    std::int64_t heads = 1, context = 0;
    double dropout = 0;  // of the probabilities, in training
  };
  ValueId attention(const std::string& name, ValueId qkv, Attention options);
  enum class Gelu { exact, tanh };
  ValueId gelu(const std::string& name, ValueId x, Gelu form);
  // In training each element is 0 with that probability, the rest scaled up; x [rows, width].
  ValueId dropout(const std::string& name, ValueId x, double probability);
  // Training: statistics of the batch, and running ones kept; evaluation: the running ones.
  ValueId batch_norm(const std::string& name, ValueId x);
  ValueId relu(const std::string& name, ValueId x);
  ValueId add(const std::string& name, ValueId a, ValueId b);
  struct MaxPool {
    std::int64_t size = 2, stride = 2, pad = 0;  // pad: less than size; never the largest
  };
  ValueId max_pool(const std::string& name, ValueId x, MaxPool options);
  ValueId average_pool(const std::string& name, ValueId x);
  ValueId flatten(const std::string& name, ValueId x);

  // What is built from here to the next call belongs to one block: the unit of `recompute`.
  void begin_block() { block_ = ++blocks_; }
  // What is built from here on belongs to no block.
  void end_blocks() { block_ = -1; }

  [[nodiscard]] const Shape& shape(ValueId id) const { return graph_.value(id).shape; }
  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] const std::vector<InitialValue>& initial_values() const { return initial_values_; }

 private:
  ValueId parameter(std::string name, Shape shape, Initializer initializer);
  ValueId buffer(std::string name, Shape shape, double value);
  ValueId apply(std::string op, const std::string& name, std::vector<ValueId> inputs,
                Attributes attributes);

  Graph& graph_;
  const OpTable& ops_;
  Mode mode_;
  Surroundings surroundings_;
  int block_ = -1, blocks_ = -1;
  std::int64_t dropouts_ = 0;  // so that each draws numbers of its own
  std::vector<InitialValue> initial_values_;
};

using ModelFunction = std::function<ValueId(ModelBuilder&, ValueId samples)>;

struct BatchShape {
  SampleShape sample;
  std::int64_t batch = 0;  // samples a program handles at once, padding included
};

// A model with its loss. Inputs by name (with "evaluation_" before them in evaluation): "images"
// f32 [batch,H,W,C] or "tokens" i32 [batch,context]; "labels" i32 [batch * labels a sample], -1
// where there is none; "sample_weights" f32 [batch]; in training "sample_rows" i32 [batch], each
// sample's index in the step's global batch, and "global_weight" f32 [1], labels of the whole step.
// Results: "totals" f64 [3], "state"; in evaluation "logits".
struct BuiltModel {
  Graph graph;
  std::vector<InitialValue> initial_values;
};
[[nodiscard]] LOCKSTEP_API BuiltModel build_training(const ModelFunction& model, const OpTable& ops,
                                                     const BatchShape& shape, MicroStep micro_step);
[[nodiscard]] LOCKSTEP_API BuiltModel build_evaluation(const ModelFunction& model,
                                                       const OpTable& ops, const BatchShape& shape);

// Fills `values` by counters under (seed, name): the same on every rank, in every world and on
// every device.
LOCKSTEP_API void initialise(std::span<float> values, const Initializer& initializer,
                             std::uint64_t seed, std::string_view name);

}  // namespace lockstep::engine
