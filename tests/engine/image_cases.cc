// Elementwise ops, pooling, flattening and reorders.
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;
using reference::Tensors;

std::vector<Shape> vectors() {
  return {{1}, {3, 5}, {31}, {2, 3, 3, 7}, {40007}};
}

void add_elementwise(const Shape& shape, std::vector<ConformanceCase>& cases) {
  const auto a = random_tensor(shape, 1), b = random_tensor(shape, 2);
  const std::string name = shape.text();
  const NodeCase relu{.name = name, .op = "relu", .inputs = {{a}}};
  cases.push_back(forward_case(relu, 0));
  cases.push_back(gradient_case(
      {.name = name, .op = "relu_backward", .inputs = {{evaluate(relu, {a})[0]}, {b}}},
      {.loss = weighted_output(relu, b), .inputs = {a}, .variables = {0}}, 0));
  cases.push_back(forward_case({.name = name, .op = "add", .inputs = {{a}, {b}}}, 1));
  cases.push_back(forward_case(
      {.name = name, .op = "accumulate", .inputs = {{a, DType::f32, Role::buffer}, {b}}}, 1));
  cases.push_back(forward_case({.name = name, .op = "reorder", .inputs = {{a}}}, 0));
}

// Types in which an op's input and its output are stored.
struct StoredAs {
  DType from, to;
  [[nodiscard]] std::string name() const {
    return fmt::format("_{}_{}", name_of(from), name_of(to));
  }
  [[nodiscard]] Operand input(const Tensor& tensor) const {
    return from == DType::bf16 ? low(tensor) : Operand{tensor};
  }
};
constexpr StoredAs kStoredAs[] = {{DType::f32, DType::f32},
                                  {DType::bf16, DType::bf16},
                                  {DType::bf16, DType::f32},
                                  {DType::f32, DType::bf16}};

struct Pool {
  std::int64_t n, h, w, c, size, stride, pad = 0;
  [[nodiscard]] Attributes attributes() const {
    return {{"size", size}, {"stride", stride}, {"pad", pad}};
  }
};

void add_max_pool(const Pool& p, std::int64_t relu, std::vector<ConformanceCase>& cases) {
  const std::string name = fmt::format("{}x{}x{}x{}_size{}_stride{}_pad{}{}", p.n, p.h, p.w, p.c,
                                       p.size, p.stride, p.pad, relu ? "_relu" : "");
  const auto x = distinct_tensor({p.n, p.h, p.w, p.c}, 5);
  Attributes attributes = p.attributes();
  attributes.set("relu", relu);
  const NodeCase forward{.name = name, .op = "max_pool", .attributes = attributes, .inputs = {{x}}};
  const Tensors pooled = evaluate(forward, {x});
  const auto dy = rounded_to_bf16(random_tensor(pooled[0].shape, 6));
  Attributes backward = p.attributes();
  backward.set("height", p.h);
  backward.set("width", p.w);
  for (const StoredAs& stored : kStoredAs) {
    NodeCase node = forward;
    node.name += stored.name();
    node.inputs = {stored.input(x)};  // bf16 has ties
    node.stored_as = {stored.to, DType::u8};
    cases.push_back(forward_case(node, 0));
    // A pixel in many windows adds up their gradients.
    cases.push_back(
        gradient_case({.name = node.name,
                       .op = "max_pool_backward",
                       .attributes = backward,
                       .inputs = {stored.input(dy), {pooled[1], DType::u8}},
                       .stored_as = {stored.to}},
                      {.loss = weighted_output(forward, dy), .inputs = {x}, .variables = {0}},
                      p.stride < p.size ? 8 : 0));
  }
}

// Equal elements, of which the first wins, NaN, which wins over all, and a window of -infinity.
void add_special_pools(std::vector<ConformanceCase>& cases) {
  for (const Pool& p :
       {Pool{1, 5, 7, 19, 3, 2, 1}, Pool{2, 4, 6, 6, 2, 2}, Pool{1, 4, 4, 16, 2, 2}}) {
    Tensor equal({p.n, p.h, p.w, p.c});
    for (std::size_t i = 0; i < equal.values.size(); ++i) {
      equal.values[i] = static_cast<double>(i * 7 % 3) - 1;
    }
    Tensor strange = equal;
    for (std::int64_t c = 0; c < p.c; c += 2) {
      strange.at(0, 1, 1, c) = std::numeric_limits<double>::quiet_NaN();
    }
    for (double& v : equal.values) {
      if (v == 0) v = -std::numeric_limits<double>::infinity();
    }
    for (const StoredAs& stored : kStoredAs) {
      for (const auto& [what, x] : {std::pair{"ties", equal}, std::pair{"nan", strange}}) {
        cases.push_back(
            forward_case({.name = fmt::format("{}_{}_{}{}", what, p.c, p.size, stored.name()),
                          .op = "max_pool",
                          .attributes = p.attributes(),
                          .inputs = {stored.input(x)},
                          .stored_as = {stored.to, DType::u8}},
                         0));
      }
    }
  }
}

void add_image(const Shape& shape, std::vector<ConformanceCase>& cases) {
  const auto x = rounded_to_bf16(random_tensor(shape, 7));
  const auto average_dy = rounded_to_bf16(random_tensor({shape[0], shape[3]}, 8));
  const auto flat_dy =
      rounded_to_bf16(random_tensor({shape[0], shape[1] * shape[2] * shape[3]}, 9));
  for (const StoredAs& stored : kStoredAs) {
    const std::string name = shape.text() + stored.name();
    const NodeCase average{
        .name = name, .op = "average_pool", .inputs = {stored.input(x)}, .stored_as = {stored.to}};
    cases.push_back(forward_case(average, 16));
    cases.push_back(gradient_case(
        {.name = name,
         .op = "average_pool_backward",
         .attributes = {{"height", shape[1]}, {"width", shape[2]}},
         .inputs = {stored.input(average_dy)},
         .stored_as = {stored.to}},
        {.loss = weighted_output(average, average_dy), .inputs = {x}, .variables = {0}}, 2));

    const NodeCase flat{
        .name = name, .op = "flatten", .inputs = {stored.input(x)}, .stored_as = {stored.to}};
    cases.push_back(forward_case(flat, 0));
    cases.push_back(gradient_case(
        {.name = name,
         .op = "unflatten",
         .attributes = {{"height", shape[1]}, {"width", shape[2]}, {"channels", shape[3]}},
         .inputs = {stored.input(flat_dy)},
         .stored_as = {stored.to}},
        {.loss = weighted_output(flat, flat_dy), .inputs = {x}, .variables = {0}}, 0));
  }
}

}  // namespace

std::vector<ConformanceCase> image_cases() {
  std::vector<ConformanceCase> cases;
  for (const Shape& shape : vectors()) add_elementwise(shape, cases);
  for (std::int64_t relu : {0, 1}) {
    for (const Pool& pool : std::initializer_list<Pool>{{1, 1, 1, 1, 1, 1},
                                                        {2, 5, 7, 3, 2, 2},
                                                        {2, 4, 6, 5, 2, 3},
                                                        {1, 7, 7, 17, 3, 3},
                                                        {3, 4, 10, 6, 2, 2},
                                                        {1, 3, 3, 6, 2, 2},
                                                        {2, 7, 9, 6, 2, 2},
                                                        {2, 28, 28, 6, 2, 2},
                                                        {2, 10, 10, 16, 2, 2},
                                                        {1, 6, 5, 37, 2, 2},
                                                        {1, 15, 16, 2, 15, 15},
                                                        {1, 1, 1, 3, 3, 2, 1},
                                                        {2, 8, 8, 64, 3, 2, 1},
                                                        {1, 7, 6, 21, 3, 2, 1},
                                                        {2, 5, 6, 5, 3, 1, 1},
                                                        {1, 6, 4, 33, 2, 1, 0},
                                                        {1, 9, 5, 2, 4, 3, 3},
                                                        {1, 5, 7, 3, 2, 3, 1}}) {
      add_max_pool(pool, relu, cases);
    }
  }
  add_special_pools(cases);
  for (const Shape& shape : std::vector<Shape>{
           {1, 1, 1, 1}, {2, 1, 1, 5}, {1, 3, 5, 1}, {2, 5, 5, 16}, {3, 7, 7, 64}, {2, 5, 3, 19}}) {
    add_image(shape, cases);
  }
  return cases;
}

}  // namespace lockstep::engine::test
