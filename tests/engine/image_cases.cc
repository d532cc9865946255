// Elementwise ops, pooling, flattening and reorders.
#include <fmt/format.h>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

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

struct Pool {
  std::int64_t n, h, w, c, size, stride;
};

void add_max_pool(const Pool& p, std::int64_t relu, std::vector<ConformanceCase>& cases) {
  const std::string name = fmt::format("{}x{}x{}x{}_size{}_stride{}{}", p.n, p.h, p.w, p.c, p.size,
                                       p.stride, relu ? "_relu" : "");
  const auto x = distinct_tensor({p.n, p.h, p.w, p.c}, 5);
  const NodeCase forward{.name = name,
                         .op = "max_pool",
                         .attributes = {{"size", p.size}, {"stride", p.stride}, {"relu", relu}},
                         .inputs = {{x}}};
  cases.push_back(forward_case(forward, 0));
  const Tensors pooled = evaluate(forward, {x});
  const auto dy = random_tensor(pooled[0].shape, 6);
  cases.push_back(gradient_case(
      {.name = name,
       .op = "max_pool_backward",
       .attributes = {{"size", p.size}, {"stride", p.stride}, {"height", p.h}, {"width", p.w}},
       .inputs = {{dy}, {pooled[1], DType::u8}}},
      {.loss = weighted_output(forward, dy), .inputs = {x}, .variables = {0}}, 0));
}

void add_image(const Shape& shape, std::vector<ConformanceCase>& cases) {
  const auto x = random_tensor(shape, 7);
  const std::string name = shape.text();
  const NodeCase average{.name = name, .op = "average_pool", .inputs = {{x}}};
  const auto average_dy = random_tensor({shape[0], shape[3]}, 8);
  cases.push_back(forward_case(average, 16));
  cases.push_back(gradient_case(
      {.name = name,
       .op = "average_pool_backward",
       .attributes = {{"height", shape[1]}, {"width", shape[2]}},
       .inputs = {{average_dy}}},
      {.loss = weighted_output(average, average_dy), .inputs = {x}, .variables = {0}}, 2));

  const NodeCase flat{.name = name, .op = "flatten", .inputs = {{x}}};
  const auto flat_dy = random_tensor({shape[0], shape[1] * shape[2] * shape[3]}, 9);
  cases.push_back(forward_case(flat, 0));
  cases.push_back(gradient_case(
      {.name = name,
       .op = "unflatten",
       .attributes = {{"height", shape[1]}, {"width", shape[2]}, {"channels", shape[3]}},
       .inputs = {{flat_dy}}},
      {.loss = weighted_output(flat, flat_dy), .inputs = {x}, .variables = {0}}, 0));
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
                                                        {1, 15, 16, 2, 15, 15}}) {
      add_max_pool(pool, relu, cases);
    }
  }
  for (const Shape& shape : std::vector<Shape>{
           {1, 1, 1, 1}, {2, 1, 1, 5}, {1, 3, 5, 1}, {2, 5, 5, 16}, {3, 7, 7, 64}, {2, 5, 3, 19}}) {
    add_image(shape, cases);
  }
  return cases;
}

}  // namespace lockstep::engine::test
