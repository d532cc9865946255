#include "launcher/coordinator/job_control.h"

#include <csignal>

namespace lockstep::launcher {

JobControl::Actions JobControl::signalled(int number, Time now) {
  if (number == SIGCONT) {
    // Also while running: who sends it wants to see workers run that something stopped.
    phase_ = Phase::kRunning;
    stop_at_.reset();
    return {SignalWorkers{SIGCONT}};
  }
  if (number != SIGTSTP || phase_ != Phase::kRunning) return {};
  phase_ = Phase::kTelling;
  stop_at_ = now + kTelling;
  return {SignalWorkers{SIGTSTP}};
}

JobControl::Actions JobControl::told() {
  return phase_ == Phase::kTelling ? stop() : Actions{};
}

JobControl::Actions JobControl::time_passed(Time now) {
  return stop_at_ && now >= *stop_at_ ? stop() : Actions{};
}

JobControl::Actions JobControl::stop() {
  phase_ = Phase::kStopped;
  stop_at_.reset();
  return {StopSelf{}};
}

}  // namespace lockstep::launcher
