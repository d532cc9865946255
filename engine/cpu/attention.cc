// Causal attention: threads over samples and heads, each of which is computed whole by one thread.
#include <algorithm>

#include "engine/cpu/attention_head.h"
#include "engine/cpu/families.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

struct Heads {
  std::int64_t samples, heads;
  HeadShape shape;
  double dropout;
  std::int64_t stream;

  [[nodiscard]] std::int64_t channels() const { return heads * shape.width; }
  [[nodiscard]] std::int64_t threads(int most) const {
    return std::min<std::int64_t>(most, samples * heads);
  }
};

Heads heads_of(const Graph& graph, const Node& node) {
  const Shape& qkv = graph.value(node.inputs[0]).shape;
  const std::int64_t heads = node.attributes.integer("heads");
  const std::int64_t context = node.attributes.integer("context");
  return {.samples = qkv[0] / context,
          .heads = heads,
          .shape = {.context = context, .width = qkv[1] / (3 * heads)},
          .dropout = node.attributes.real("dropout"),
          .stream = node.attributes.integer("stream")};
}

struct Head {
  std::int64_t sample, head;
};

// Which of the parts of a matrix that lie beside one another.
struct Part {
  std::int64_t index, count;
};
constexpr Part kQueries{0, 3}, kKeys{1, 3}, kValues{2, 3}, kWhole{0, 1};

HeadRows rows_of(const Heads& heads, const StoredFloats& matrix, const Head& at, const Part& part) {
  const std::int64_t stride = part.count * heads.channels();
  return {.matrix = matrix,
          .first = at.sample * heads.shape.context * stride + part.index * heads.channels() +
                   at.head * heads.shape.width,
          .stride = stride,
          .rows = heads.shape.context,
          .width = heads.shape.width};
}

// Where random numbers come from; unused without dropout.
struct Randomness {
  const std::int32_t* rows;
  const StepState* state;
};

std::optional<HeadDropout> dropout_of(const Heads& heads, const Randomness& randomness,
                                      const Head& at) {
  if (heads.dropout == 0) return {};
  return HeadDropout{SampleRandom(*randomness.state, heads.stream, randomness.rows[at.sample]),
                     DropRule(heads.dropout), at.head * heads.shape.context * heads.shape.blocks()};
}

// Calls work(head, scratch of the thread).
template <class Work>
void for_heads(int threads, const Heads& heads, float* scratch, std::int64_t floats,
               const Work& work) {
  const std::int64_t count = heads.samples * heads.heads, workers = heads.threads(threads);
  for_pieces(threads, workers, [&](std::int64_t worker) {
    for (std::int64_t i = worker; i < count; i += workers) {
      work(Head{i / heads.heads, i % heads.heads}, scratch + worker * floats);
    }
  });
}

Kernel bind_forward(const Context& context, const Binding& b) {
  return [threads = context.threads, isa = context.isa, heads = heads_of(b.graph, b.node),
          qkv = StoredFloats::input(b, 0), out = StoredFloats::output(b, 0), lse = b.out<float>(1),
          randomness = Randomness{b.in<std::int32_t>(1), b.in<StepState>(2)},
          scratch = reinterpret_cast<float*>(b.workspace)] {
    for_heads(threads, heads, scratch, forward_scratch(heads.shape),
              [&](const Head& at, float* room) {
                const HeadForward head{
                    .q = rows_of(heads, qkv, at, kQueries),
                    .k = rows_of(heads, qkv, at, kKeys),
                    .v = rows_of(heads, qkv, at, kValues),
                    .out = rows_of(heads, out, at, kWhole),
                    .lse = lse + (at.sample * heads.heads + at.head) * heads.shape.context,
                    .dropout = dropout_of(heads, randomness, at)};
                attend(isa, heads.shape, head, room);
              });
  };
}

Kernel bind_backward(const Context& context, const Binding& b) {
  return [threads = context.threads, isa = context.isa, heads = heads_of(b.graph, b.node),
          qkv = StoredFloats::input(b, 0), out = StoredFloats::input(b, 1), lse = b.in<float>(2),
          dout = StoredFloats::input(b, 3), dqkv = StoredFloats::output(b, 0),
          randomness = Randomness{b.in<std::int32_t>(4), b.in<StepState>(5)},
          scratch = reinterpret_cast<float*>(b.workspace)] {
    for_heads(threads, heads, scratch, backward_scratch(heads.shape),
              [&](const Head& at, float* room) {
                const HeadBackward head{
                    .q = rows_of(heads, qkv, at, kQueries),
                    .k = rows_of(heads, qkv, at, kKeys),
                    .v = rows_of(heads, qkv, at, kValues),
                    .out = rows_of(heads, out, at, kWhole),
                    .dout = rows_of(heads, dout, at, kWhole),
                    .lse = lse + (at.sample * heads.heads + at.head) * heads.shape.context,
                    .dq = rows_of(heads, dqkv, at, kQueries),
                    .dk = rows_of(heads, dqkv, at, kKeys),
                    .dv = rows_of(heads, dqkv, at, kValues),
                    .dropout = dropout_of(heads, randomness, at)};
                attend_backward(isa, heads.shape, head, room);
              });
  };
}

}  // namespace

Family attention_kernels(const Context& context) {
  auto needs = [threads = context.threads](std::int64_t (*floats)(const HeadShape&)) {
    return [threads, floats](const Graph& graph, const Node& node) {
      const Heads heads = heads_of(graph, node);
      return OperandWishes{
          .workspace = static_cast<std::size_t>(heads.threads(threads) * floats(heads.shape)) *
                       sizeof(float)};
    };
  };
  return {{.op = "attention",
           .bind = [context](const Binding& b) { return bind_forward(context, b); },
           .wishes = needs(forward_scratch)},
          {.op = "attention_backward",
           .bind = [context](const Binding& b) { return bind_backward(context, b); },
           .wishes = needs(backward_scratch)}};
}

}  // namespace lockstep::engine::cpu
