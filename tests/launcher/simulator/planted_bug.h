// Broken rules, one a value: what the simulator must find when it is put between a machine and its
// driver. The machines themselves are those of the product.
#pragma once

namespace lockstep::launcher::simulator {

enum class PlantedBug {
  kNone,
  kRestartsWithoutGone,            // the coordinator takes Stop sent for Gone received
  kLastFailureIsCulprit,           // it takes the latest failure for the first
  kStopForgetsAHost,               // it tells all but the last member to stop
  kSilenceIsNotNoticed,            // it never declares a silent host lost
  kOutputIsShownTwice,             // it shows what it was sent once more
  kAgentIgnoresStopWhileStarting,  // an agent drops a Stop soon after a Start
  kAgentSaysGoneTooEarly,          // an agent counts no grandchildren
  kAgentOutlivesItsCoordinator,    // an agent does not mind silence
};

}  // namespace lockstep::launcher::simulator
