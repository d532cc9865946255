// Every op's kernel against the double-precision reference, and backward kernels against its
// central differences: with and without hand-written AVX-512, on one thread and on two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/cpu/kernels.h"
#include "engine/op.h"
#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using cpu::Isa;

std::vector<ConformanceCase> all_cases() {
  std::vector<ConformanceCase> all;
  for (auto family : {convolution_cases, linear_cases, image_cases, batch_norm_cases,
                      elementwise_cases, embedding_cases, layer_norm_cases, attention_cases,
                      dropout_cases, loss_cases, training_cases}) {
    auto cases = family();
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<ConformanceCase> cases_of(std::string_view op) {
  std::vector<ConformanceCase> cases = all_cases();
  std::erase_if(cases, [&](const ConformanceCase& c) { return c.node.op != op; });
  return cases;
}

// What storing a value of this size may round away.
double storage_error(const NodeCase& node, std::size_t output, double value) {
  const bool low = output < node.stored_as.size() && node.stored_as[output] == DType::bf16;
  return low ? std::ldexp(std::abs(value), -8) + 1e-30 : 0;
}

void check(const NodeCase& node, const Outputs& outputs,
           const std::vector<Expectation>& expectations) {
  ASSERT_EQ(outputs.tensors.size(), expectations.size());
  for (std::size_t o = 0; o < expectations.size(); ++o) {
    const Expectation& e = expectations[o];
    ASSERT_FALSE(e.elements.empty());
    for (std::size_t i = 0; i < e.elements.size(); ++i) {
      const double found = outputs.tensors[o][e.elements[i]];
      if (std::isfinite(e.values[i])) {
        ASSERT_NEAR(found, e.values[i], e.bounds[i] + storage_error(node, o, found))
            << "output " << o << " element " << e.elements[i];
      } else {
        ASSERT_EQ(std::isnan(found), std::isnan(e.values[i]))
            << "output " << o << " element " << e.elements[i];
      }
    }
    for (double v : outputs.tensors[o].values) {
      ASSERT_FALSE(std::isnan(v) && std::isfinite(e.values[0])) << "output " << o << " has a NaN";
    }
  }
}

// Ops whose kernels, or some of them, are oneDNN's, whose sums may depend on the number of threads.
bool all_own(std::string_view op) {
  return !op.starts_with("conv2d") && !op.starts_with("linear");
}

class OpConformance : public testing::TestWithParam<std::string> {};

TEST_P(OpConformance, AgreesWithTheReference) {
  const std::vector<ConformanceCase> cases = cases_of(GetParam());
  ASSERT_FALSE(cases.empty()) << "no case covers op " << GetParam();
  for (const ConformanceCase& c : cases) {
    const std::vector<Expectation> expected = c.expect();
    for (Isa isa : isas()) {
      std::vector<Outputs> by_threads;
      for (int threads : {1, 2}) {
        SCOPED_TRACE(testing::Message()
                     << c << ", " << threads << " threads, isa " << static_cast<int>(isa));
        const KernelTable kernels = cpu::kernels(threads, isa);
        by_threads.push_back(run_node(c.node, kernels));
        check(c.node, by_threads.back(), expected);
        check(c.node, run_node(c.node, kernels, InPlace::where_allowed), expected);
        if (HasFatalFailure()) return;
      }
      if (all_own(c.node.op)) {
        EXPECT_EQ(by_threads[0].bytes, by_threads[1].bytes)
            << c << ": the bits depend on the number of threads";
      }
    }
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}
INSTANTIATE_TEST_SUITE_P(AllOps, OpConformance, testing::ValuesIn(standard_ops().names()),
                         test_name);

}  // namespace
}  // namespace lockstep::engine::test
