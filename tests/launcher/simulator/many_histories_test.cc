// A hundred thousand random histories of a job.
#include <gtest/gtest.h>

#include "tests/launcher/simulator/histories.h"

namespace lockstep::launcher::simulator {
namespace {

TEST(SimulatorHistories, AHundredThousandBreakNoPromise) {
  expect_no_broken_promise(1'000'000, 100'000);
}

}  // namespace
}  // namespace lockstep::launcher::simulator
