// One history of a job on simulated hosts, from its first call to the end of its last process. A
// seed replays it.
//
// Thread rule: one thread. Cost: about a millisecond, more with many hosts.
#pragma once

#include <cstdint>
#include <string>

#include "tests/launcher/simulator/planted_bug.h"

namespace lockstep::launcher::simulator {

enum class Printed { kNo, kYes };

struct HistoryEnd {
  std::string broken;  // the promise that was broken; empty: none
  int code = 0;        // the launcher's; -1 where it crashed
  std::uint64_t events = 0;
  std::uint32_t generations = 0;
};

// `printed`: the history goes to standard output.
[[nodiscard]] HistoryEnd run_history(std::uint64_t seed, PlantedBug bug = PlantedBug::kNone,
                                     Printed printed = Printed::kNo);

}  // namespace lockstep::launcher::simulator
