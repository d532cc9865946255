#include "runtime/metrics/jsonl.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/file_system.h"
#include "runtime/metrics/measured.h"

namespace lockstep::runtime::metrics {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// The lines of steps up to `last_step`; what is no record, or was cut short, is not one of them.
std::string lines_until(std::string_view text, std::int64_t last_step) {
  std::string kept;
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return kept;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const json record = json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("step") || !record.at("step").is_number_integer() ||
        record.at("step") > last_step) {
      continue;
    }
    kept.append(line).push_back('\n');
  }
}

const std::filesystem::path& keep_until(const std::filesystem::path& path, std::int64_t last_step) {
  checkpoint::PosixFileSystem files;
  std::vector<std::byte> bytes;
  try {
    bytes = checkpoint::read_file(files, path);
  } catch (const checkpoint::FileSystemError& error) {
    if (error.code() == ENOENT) return path;
    throw;
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string kept = lines_until(text, last_step);
  if (kept != text) checkpoint::replace_file(files, path, kept);
  return path;
}

}  // namespace

std::string to_text(const StepRecord& record) {
  return ordered_json({{"step", record.step},
                       {"epoch", or_null(record.epoch)},
                       {"loss", or_null(record.loss)},
                       {"lr", or_null(record.lr)},
                       {"grad_norm", or_null(record.grad_norm)},
                       {"loss_scale", or_null(record.loss_scale)},
                       {"samples_per_s", or_null(record.samples_per_s)},
                       {"tokens_per_s", or_null(record.tokens_per_s)},
                       {"step_ms", or_null(record.step_ms)},
                       {"data_wait_ms", or_null(record.data_wait_ms)},
                       {"exposed_comm_ms", or_null(record.exposed_comm_ms)},
                       {"time", record.time}})
      .dump();
}

std::string to_text(const EvaluationRecord& record) {
  return ordered_json({{"step", record.step},
                       {"eval_loss", or_null(record.eval_loss)},
                       {"eval_accuracy", or_null(record.eval_accuracy)},
                       {"time", record.time}})
      .dump();
}

MetricsLog::MetricsLog(const std::filesystem::path& path, std::int64_t resumed_step)
    : file_(keep_until(path, resumed_step)) {}

void MetricsLog::write(const StepRecord& record) {
  write_line(to_text(record));
}

void MetricsLog::write(const EvaluationRecord& record) {
  write_line(to_text(record));
}

void MetricsLog::write_line(std::string line) {
  line.push_back('\n');
  file_.append(std::as_bytes(std::span(line)));
}

}  // namespace lockstep::runtime::metrics
