#include "runtime/run_log.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>

namespace lockstep::runtime {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

// The launcher has made log/ where there is one, and writes what the workers print.
std::ofstream own_log(const metrics::RunFolder& folder) {
  const std::filesystem::path directory = folder.path() / "log";
  std::error_code error;
  if (!std::filesystem::create_directory(directory, error)) return {};
  return std::ofstream(directory / "rank0.log");
}

}  // namespace

void RunLog::say(std::string_view sentence) {
  progress_.say(sentence);
  note(sentence);
}

void RunLog::note(std::string_view sentence) {
  if (log_.is_open()) log_lines_.say(sentence);
}

RunLog::RunLog(const Job& job, metrics::RunFolder folder, std::optional<std::int64_t> resumed_step,
               std::ostream& out)
    : folder_(std::move(folder)),
      progress_(out, metrics::progress_style(STDOUT_FILENO),
                [] { return metrics::terminal_width(STDOUT_FILENO); }),
      log_(own_log(folder_)),
      log_lines_(log_, metrics::ProgressStyle::plain, [] { return std::size_t{0}; }) {
  summary_.name = job.name;
  summary_.run = folder_.id();
  summary_.started = now();
  summary_.device = "cpu";
  summary_.precision = std::string(name_of(job.precision));
  summary_.model.kind = std::string(name_of(job.model.kind));
  attempt([&] {
    folder_.write("job.json", to_json(job).dump(2) + "\n");
    metrics_.emplace(folder_.metrics(), resumed_step.value_or(0));
    if (job.metrics.tensorboard) events_.emplace(folder_.path(), now(), resumed_step);
  });
}

template <class Write>
void RunLog::attempt(Write write) {
  try {
    write();
  } catch (const std::exception& error) {
    if (!said_unwritable_) {
      say(fmt::format("warning: the run's records cannot be written, training goes on: {}",
                      error.what()));
    }
    said_unwritable_ = true;
  }
}

void RunLog::step(const Step& step) {
  const double steps = static_cast<double>(std::max<std::size_t>(1, step.interval.steps));
  const StepTime& sum = step.interval.sum;
  const double milliseconds = 1e3 * sum.total / steps;
  const double rate = sum.total > 0 ? static_cast<double>(step.samples) / sum.total : 0;
  std::optional<double> token_rate, share;
  if (step.tokens && sum.total > 0) token_rate = static_cast<double>(*step.tokens) / sum.total;
  if (step.flops_of_ceiling && sum.total > 0) share = *step.flops_of_ceiling * steps / sum.total;
  const double exposed = 1e3 * sum.run.exposed / steps;
  const double stolen = 1e3 * sum.run.stolen / steps;
  line_ = {.step = step.step,
           .steps = step.total_steps,
           .loss = step.loss,
           .lr = step.learning_rate,
           .step_ms = milliseconds,
           .samples_per_s = rate,
           .tokens_per_s = token_rate,
           .share_of_ceiling = share,
           .comm_ms = exposed + stolen,
           .exposed_comm_ms = exposed,
           .data_wait_ms = 1e3 * sum.data_wait / steps};
  progress_.log(line_);
  shown_ = std::chrono::steady_clock::now();
  if (log_.is_open()) log_lines_.log(line_);
  summary_.train_loss = step.loss;
  attempt([&] {
    if (metrics_) {
      metrics_->write({.step = step.step,
                       .epoch = step.epoch,
                       .loss = step.loss,
                       .lr = step.learning_rate,
                       .grad_norm = step.gradient_norm,
                       .samples_per_s = rate,
                       .tokens_per_s = token_rate,
                       .step_ms = milliseconds,
                       .data_wait_ms = 1e3 * sum.data_wait / steps,
                       .exposed_comm_ms = exposed,
                       .time = now()});
    }
    if (events_) {
      events_->write(now(), {"train/loss", step.step, static_cast<float>(step.loss)});
      events_->write(now(),
                     {"train/learning_rate", step.step, static_cast<float>(step.learning_rate)});
      events_->write(now(), {"throughput/samples_per_s", step.step, static_cast<float>(rate)});
      if (token_rate) {
        events_->write(now(),
                       {"throughput/tokens_per_s", step.step, static_cast<float>(*token_rate)});
      }
      events_->write(now(), {"step_ms/total", step.step, static_cast<float>(milliseconds)});
      events_->write(now(), {"step_ms/exposed_comm", step.step, static_cast<float>(exposed)});
    }
  });
}

void RunLog::advance(std::int64_t step, std::int64_t total_steps, double loss) {
  constexpr std::chrono::milliseconds kBetween{200};
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < kBetween) return;
  shown_ = now;
  line_.step = step;
  line_.steps = total_steps;
  line_.loss = loss;
  progress_.advance(line_);
}

void RunLog::evaluation(std::int64_t step, const EvaluationResult& result) {
  say(fmt::format("evaluation at step {}: loss {:.4f}, accuracy {:.4f} on {} samples", step,
                  result.loss, result.accuracy, result.samples));
  summary_.eval = {result.loss, result.accuracy, result.samples};
  attempt([&] {
    if (metrics_) {
      metrics_->write({.step = step,
                       .eval_loss = result.loss,
                       .eval_accuracy = result.accuracy,
                       .time = now()});
    }
    if (events_) {
      events_->write(now(), {"eval/loss", step, static_cast<float>(result.loss)});
      events_->write(now(), {"eval/accuracy", step, static_cast<float>(result.accuracy)});
    }
  });
}

void RunLog::write_summary() {
  attempt([&] { folder_.write("summary.json", metrics::to_text(summary_)); });
}

void RunLog::finish(metrics::RunStatus status, int code) {
  progress_.finish();
  summary_.status = status;
  summary_.exit = metrics::Summary::Exit{.code = code};
  summary_.ended = now();
  summary_.memory.peak_resident = peak_resident_bytes();
  write_summary();
}

}  // namespace lockstep::runtime
