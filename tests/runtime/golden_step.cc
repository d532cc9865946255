#include "tests/runtime/golden_step.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::runtime::test {
namespace {

void expect_gradient(const std::string& name, std::span<const float> gradient,
                     const nlohmann::json& expected) {
  double squares = 0;
  for (float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
  const double norm = expected.at("norm");
  EXPECT_NEAR(std::sqrt(squares) / norm, 1, 2e-5) << name;
  for (std::size_t i = 0; i < 16; ++i) {
    const auto place = expected.at("places")[i].get<std::size_t>();
    EXPECT_NEAR(static_cast<double>(gradient[place]), expected.at("values")[i].get<double>(),
                2e-5 * norm)
        << name << "[" << place << "]";
  }
}

}  // namespace

void expect_golden_step(Replica& replica, const nlohmann::json& golden) {
  const engine::StepState& state = replica.state();
  EXPECT_NEAR(state.loss_sum / state.weight_sum, golden.at("loss").get<double>(), 2e-6);
  std::size_t compared = 0;
  for (const auto& named : replica.compiled().placement.saved()) {
    if (named.arena != engine::Arena::parameters) continue;
    expect_gradient(named.name,
                    replica.gradients().subspan(named.offset / sizeof(float),
                                                static_cast<std::size_t>(named.shape.elements())),
                    golden.at("gradients").at(named.name));
    ++compared;
  }
  EXPECT_EQ(compared, golden.at("gradients").size());
}

}  // namespace lockstep::runtime::test
