// The planted bugs that histories must find, and one history in print.
//
// A history that breaks a promise is printed by
//   LOCKSTEP_SIMULATOR_SEED=N launcher_simulator_test --gtest_filter=Simulator.OneHistory
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/launcher/simulator/history.h"

namespace lockstep::launcher::simulator {
namespace {

// One of the first `most` seeds breaks a promise in these words.
void expect_found(PlantedBug bug, std::uint64_t most, const std::string& words) {
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    const std::string broken = run_history(seed, bug).broken;
    if (broken.find(words) == std::string::npos) continue;
    EXPECT_EQ(run_history(seed, bug).broken, broken) << "a seed replays its history";
    return;
  }
  ADD_FAILURE() << "the planted bug was not found in " << most << " histories";
}

TEST(Simulator, OneHistory) {
  const char* seed = std::getenv("LOCKSTEP_SIMULATOR_SEED");
  if (seed == nullptr) GTEST_SKIP() << "LOCKSTEP_SIMULATOR_SEED names the history to print";
  EXPECT_EQ(run_history(std::strtoull(seed, nullptr, 10), PlantedBug::kNone, Printed::kYes).broken,
            "");
}

TEST(Simulator, FindsACoordinatorThatRestartsWithoutWaitingForGone) {
  expect_found(PlantedBug::kRestartsWithoutGone, 500, "lives");
}

TEST(Simulator, FindsACoordinatorThatTakesTheLastFailureForTheCulprit) {
  expect_found(PlantedBug::kLastFailureIsCulprit, 500, "is blamed, and rank");
}

TEST(Simulator, FindsACoordinatorThatForgetsToStopAHost) {
  expect_found(PlantedBug::kStopForgetsAHost, 200, "was not told");
}

TEST(Simulator, FindsACoordinatorThatDoesNotNoticeSilence) {
  expect_found(PlantedBug::kSilenceIsNotNoticed, 500, "not declared lost");
}

TEST(Simulator, FindsOutputThatIsShownTwice) {
  expect_found(PlantedBug::kOutputIsShownTwice, 100, "was shown after line");
}

TEST(Simulator, FindsAnAgentThatIgnoresAStopWhileItStarts) {
  expect_found(PlantedBug::kAgentIgnoresStopWhileStarting, 2'000, "was given up");
}

TEST(Simulator, FindsAnAgentThatSaysGoneTooEarly) {
  expect_found(PlantedBug::kAgentSaysGoneTooEarly, 500, "lives");
}

TEST(Simulator, FindsAnAgentThatOutlivesItsCoordinator) {
  expect_found(PlantedBug::kAgentOutlivesItsCoordinator, 1'000, "outlive");
}

}  // namespace
}  // namespace lockstep::launcher::simulator
