// Many histories, each of its own seed.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "tests/launcher/simulator/history.h"

namespace lockstep::launcher::simulator {

// Fails at the first that breaks a promise; prints how they ended.
inline void expect_no_broken_promise(std::uint64_t first, std::uint64_t count) {
  std::uint64_t events = 0, restarts = 0;
  std::map<int, std::uint64_t> codes;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const HistoryEnd end = run_history(seed);
    ASSERT_EQ(end.broken, "") << "seed " << seed << "; LOCKSTEP_SIMULATOR_SEED=" << seed
                              << " and --gtest_filter=Simulator.OneHistory print its history";
    events += end.events;
    restarts += end.generations - 1;
    ++codes[end.code];
  }
  fmt::print(
      "{} histories, {} events, {} restarts; done {}, interrupted {}, preempted {}, without "
      "progress {}, not started {}, launcher crashed {}\n",
      count, events, restarts, codes[0], codes[130], codes[75], codes[93], codes[125], codes[-1]);
  EXPECT_GT(restarts, count / 20) << "histories that restart nothing show little";
  for (const int code : {0, 130, 75, 93, 125, -1}) EXPECT_GT(codes[code], 0U) << code;
}

}  // namespace lockstep::launcher::simulator
