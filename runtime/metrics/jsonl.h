// metrics.jsonl: one JSON object a line, one line a logged step or an evaluation.
//
// Thread rule: one thread at a time; rank 0 writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/metrics/append_file.h"

namespace lockstep::runtime::metrics {

// What was not measured, or is not finite, is null. Times in milliseconds are means a step over the
// logged interval.
struct StepRecord {
  std::int64_t step = 0;
  std::optional<double> epoch;  // epochs behind us, as 1.25
  std::optional<double> loss;
  std::optional<double> lr;
  std::optional<double> grad_norm;
  std::optional<double> loss_scale;
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  std::optional<double> step_ms;
  std::optional<double> data_wait_ms;
  std::optional<double> exposed_comm_ms;
  double time = 0;  // seconds since 1970
};

struct EvaluationRecord {
  std::int64_t step = 0;
  std::optional<double> eval_loss;
  std::optional<double> eval_accuracy;
  double time = 0;  // seconds since 1970
};

// One line, without its newline.
[[nodiscard]] std::string to_text(const StepRecord& record);
[[nodiscard]] std::string to_text(const EvaluationRecord& record);

class MetricsLog {
 public:
  // Continues the file after `resumed_step` (0 for a new run): records of later steps, and a line
  // that was cut short, are dropped first, the file being replaced as a whole. Throws
  // checkpoint::FileSystemError.
  MetricsLog(const std::filesystem::path& path, std::int64_t resumed_step);

  // Each line is in the file when the call returns. Throws checkpoint::FileSystemError; the file is
  // then as it was.
  void write(const StepRecord& record);
  void write(const EvaluationRecord& record);

 private:
  void write_line(std::string line);

  AppendFile file_;
};

}  // namespace lockstep::runtime::metrics
