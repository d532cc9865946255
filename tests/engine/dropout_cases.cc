#include <fmt/format.h>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;

void add_case(const Shape& shape, std::int64_t samples, double probability,
              std::vector<ConformanceCase>& cases) {
  Tensor rows({samples});
  for (std::int64_t n = 0; n < samples; ++n) rows[n] = static_cast<double>(3 * n - 1);
  for (DType type : {DType::f32, DType::bf16}) {
    for (DType out_type : {DType::f32, DType::bf16}) {
      cases.push_back(
          forward_case({.name = fmt::format("{}_of_{}_samples_p{}_{}_{}", shape.text(), samples,
                                            probability, name_of(type), name_of(out_type)),
                        .op = "dropout",
                        .attributes = {{"probability", probability}, {"stream", std::int64_t{2}}},
                        .inputs = {stored(random_tensor(shape, 1), type),
                                   {rows, DType::i32},
                                   state_operand({.step = 9, .seed = 77})},
                        .stored_as = {out_type}},
                       1));
    }
  }
}

}  // namespace

std::vector<ConformanceCase> dropout_cases() {
  std::vector<ConformanceCase> cases;
  add_case({1, 1}, 1, 0.5, cases);
  add_case({6, 35}, 3, 0.1, cases);
  add_case({4, 64}, 2, 0, cases);
  add_case({10, 1021}, 2, 0.25, cases);
  return cases;
}

}  // namespace lockstep::engine::test
