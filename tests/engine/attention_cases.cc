#include <fmt/format.h>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;
using reference::Tensors;

struct Heads {
  std::int64_t samples, context, heads, width;
  double dropout = 0;
  double scale = 1;  // of queries, keys and values
};

// The gradient is made from the output as it is stored: a bf16 output's rounding is in it.
constexpr double kUnits = 64, kUnitsFromRounded = 1 << 16;

void add_cases(const Heads& s, DType type, DType out_type, std::vector<ConformanceCase>& cases) {
  const std::int64_t rows = s.samples * s.context, channels = s.heads * s.width;
  Tensor values = random_tensor({rows, 3 * channels}, 1);
  for (double& v : values.values) v *= s.scale;
  const Operand qkv = stored(values, type);
  Operand sample_rows, state;
  if (s.dropout > 0) {
    sample_rows = {Tensor({s.samples}), DType::i32};
    for (std::int64_t n = 0; n < s.samples; ++n) sample_rows.tensor[n] = static_cast<double>(7 - n);
    state = state_operand({.step = 3, .seed = 0x123456789});
  }
  const NodeCase forward{
      .name = fmt::format("{}x{}_{}_heads_of_{}_scale{}{}_{}_{}", s.samples, s.context, s.heads,
                          s.width, s.scale, s.dropout > 0 ? "_dropout" : "", name_of(type),
                          name_of(out_type)),
      .op = "attention",
      .attributes = {{"heads", s.heads},
                     {"context", s.context},
                     {"dropout", s.dropout},
                     {"stream", std::int64_t{5}}},
      .inputs = {qkv, sample_rows, state},
      .stored_as = {out_type}};
  cases.push_back(forward_case(forward, 32 * s.scale));

  const Tensors inputs = tensors_of(forward), outputs = evaluate(forward, inputs);
  const Operand dout = stored(random_tensor({rows, channels}, 2), out_type);
  cases.push_back(gradient_case(
      {.name = forward.name,
       .op = "attention_backward",
       .attributes = forward.attributes,
       .inputs =
           {qkv, stored(outputs[0], out_type), {rounded(outputs[1])}, dout, sample_rows, state},
       .stored_as = {type}},
      {.loss = weighted_output(forward, dout.tensor), .inputs = inputs, .variables = {0}},
      (out_type == DType::bf16 ? kUnitsFromRounded : kUnits) * s.scale));
}

}  // namespace

std::vector<ConformanceCase> attention_cases() {
  std::vector<ConformanceCase> cases;
  const std::vector<Heads> shapes{{1, 1, 1, 1},    {2, 5, 2, 3},        {1, 64, 1, 16},
                                  {1, 65, 2, 17},  {2, 130, 1, 33},     {1, 200, 1, 64, 0, 8},
                                  {1, 20, 1, 256}, {2, 70, 2, 8, 0.25}, {1, 3, 3, 5, 0.5}};
  for (const Heads& shape : shapes) {
    add_cases(shape, DType::f32, DType::f32, cases);
    add_cases(shape, DType::bf16, DType::f32, cases);
    add_cases(shape, DType::bf16, DType::bf16, cases);
  }
  return cases;
}

}  // namespace lockstep::engine::test
