// Ten thousand random histories of a job.
#include <gtest/gtest.h>

#include "tests/launcher/simulator/histories.h"

namespace lockstep::launcher::simulator {
namespace {

TEST(SimulatorHistories, TenThousandBreakNoPromise) {
  expect_no_broken_promise(0, 10'000);
}

}  // namespace
}  // namespace lockstep::launcher::simulator
