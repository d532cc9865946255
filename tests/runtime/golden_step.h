// A replica's step against one that another program made in double precision.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/replica.h"

namespace lockstep::runtime::test {

// `golden`: "loss", and "gradients" by parameter: "norm", and "values" at 16 "places". The loss
// must agree to 2e-6, a norm to 2e-5 of itself, each value to 2e-5 of its norm.
void expect_golden_step(Replica& replica, const nlohmann::json& golden);

}  // namespace lockstep::runtime::test
