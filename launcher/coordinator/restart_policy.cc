#include "launcher/coordinator/restart_policy.h"

namespace lockstep::launcher {

RestartPolicy::Verdict RestartPolicy::ended(Cause cause, Progress progress) {
  fruitless_ = progress == Progress::kMade ? 0 : fruitless_ + 1;
  if (cause == Cause::kFailure && left_ == 0) return Verdict::kBudgetUsed;
  if (fruitless_ >= kHopeless) return Verdict::kNoProgress;
  if (cause == Cause::kFailure) --left_;
  return Verdict::kRestart;
}

}  // namespace lockstep::launcher
