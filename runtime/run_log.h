// What rank 0 tells of a run: progress, metrics.jsonl, TensorBoard and summary.json; and
// log/rank0.log where no launcher keeps it.
//
// Thread rule: one thread. A record that cannot be written (a full disk) is said once on the
// progress line's stream and does not stop training.
#pragma once

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "engine/device/visibility.h"
#include "runtime/job.h"
#include "runtime/metrics/jsonl.h"
#include "runtime/metrics/progress.h"
#include "runtime/metrics/run_folder.h"
#include "runtime/metrics/summary.h"
#include "runtime/metrics/tensorboard.h"
#include "runtime/replica.h"
#include "runtime/step_statistics.h"

namespace lockstep::runtime {

class LOCKSTEP_API RunLog {
 public:
  // `resumed_step`: steps that earlier attempts have done; later records of theirs are dropped.
  RunLog(const Job& job, metrics::RunFolder folder, std::optional<std::int64_t> resumed_step,
         std::ostream& out);

  // A logged step: means over the steps since the last one.
  struct Step {
    std::int64_t step = 0;
    std::int64_t total_steps = 0;
    double epoch = 0;
    double loss = 0;
    double learning_rate = 0;
    std::optional<double> gradient_norm;
    std::int64_t samples = 0;                // since the last logged step, over all workers
    std::optional<std::int64_t> tokens;      // likewise
    std::optional<double> flops_of_ceiling;  // of a step over FLOP/s of the ceiling: seconds
    StepStatistics::Interval interval;
  };
  void step(const Step& step);
  // A step that is not logged: moves a terminal's line, a few times a second at most.
  void advance(std::int64_t step, std::int64_t total_steps, double loss);
  void evaluation(std::int64_t step, const EvaluationResult& result);
  void say(std::string_view sentence);
  // For the log alone: what its caller says to the user.
  void note(std::string_view sentence);

  // The summary as it stands; written by finish() and, so that a run that is killed has one, by
  // write_summary().
  [[nodiscard]] metrics::Summary& summary() { return summary_; }
  void write_summary();
  void finish(metrics::RunStatus status, int code);

  [[nodiscard]] const metrics::RunFolder& folder() const { return folder_; }

 private:
  template <class Write>
  void attempt(Write write);

  metrics::RunFolder folder_;
  metrics::Progress progress_;
  std::ofstream log_;  // closed where the launcher keeps the log
  metrics::Progress log_lines_;
  metrics::Summary summary_;
  std::optional<metrics::MetricsLog> metrics_;
  std::optional<metrics::EventFile> events_;
  metrics::StepLine line_;  // as last shown
  std::chrono::steady_clock::time_point shown_;
  bool said_unwritable_ = false;
};

}  // namespace lockstep::runtime
