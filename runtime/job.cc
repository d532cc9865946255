#include "runtime/job.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/models/models.h"
#include "runtime/job_fields.h"
#include "runtime/job_reader.h"
#include "runtime/job_text.h"
#include "runtime/job_writer.h"

namespace lockstep::runtime {
namespace {

using nlohmann::json;

// A key of a pair of which exactly one must be set.
struct OneOf {
  std::string_view first;
  std::string_view second;
};

void require_one(const JobPlace& place, const OneOf& keys, bool first, bool second) {
  if (first != second) return;
  place.fail(fmt::format("expected exactly one of {} and {}, found {}", keys.first, keys.second,
                         first ? "both" : "neither"));
}

// A run's folder has the job's name.
constexpr std::string_view kLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
constexpr std::size_t kLongest = 100;

// The job file's name without its ending, and with - for what a run's folder may not have.
std::string default_name(const std::string& origin) {
  std::string name = std::filesystem::path(origin).stem().string().substr(0, kLongest);
  for (char& letter : name) {
    if (kLetters.find(letter) == std::string_view::npos) letter = '-';
  }
  if (name.empty() || name.front() == '.') name.insert(0, "job");
  return name.substr(0, kLongest);
}

void check_name(const JobPlace& place, const std::string& name) {
  const bool good = !name.empty() && name.front() != '.' && name.size() <= kLongest &&
                    name.find_first_not_of(kLetters) == std::string::npos;
  if (good) return;
  place.expected(fmt::format("at most {} letters, digits and . _ - (no dot first)", kLongest),
                 json(name));
}

void check_model(const JobPlace& place, const ModelSpec& model) {
  if (model.kind == ModelKind::gpt2 && model.token_width % model.heads != 0) {
    place.at("width").expected(fmt::format("a multiple of heads ({})", model.heads),
                               json(model.token_width));
  }
  if (model.kind != ModelKind::resnet) return;
  const bool small = model.stem == Stem::small;
  if (small && (model.depth > 56 || (model.depth - 2) % 6 != 0)) {
    place.at("depth").expected("6n+2 for the small stem: 8, 14, 20, 26, 32, 38, 44, 50 or 56",
                               json(model.depth));
  }
  if (!small && !engine::models::is_imagenet_depth(model.depth)) {
    place.at("depth").expected("18, 34, 50, 101 or 152 for the ImageNet stem", json(model.depth));
  }
}

void check_dataset(const JobPlace& place, const DatasetSpec& set) {
  if (set.from < set.to) return;
  place.at("from").expected(fmt::format("less than {} ({})", set.to, place.at("to").path),
                            json(set.from));
}

void check_transforms(const JobPlace& place, const std::vector<TransformSpec>& transforms) {
  for (std::size_t i = 0; i < transforms.size(); ++i) {
    const TransformSpec& transform = transforms[i];
    if (transform.kind != TransformKind::normalise) continue;
    if (i + 1 != transforms.size()) place.at(i).fail("normalise must be the last transform");
    if (transform.mean.empty()) place.at(i).at("mean").fail("expected at least one number");
    if (transform.std.empty()) place.at(i).at("std").fail("expected at least one number");
  }
}

void check_learning_rate(const JobPlace& place, const LearningRateSpec& rate) {
  const auto& milestones = rate.milestones;
  if (rate.schedule == Schedule::step && milestones.empty()) {
    place.at("milestones").fail("expected at least one step for the schedule \"step\", found none");
  }
  for (std::size_t i = 1; i < milestones.size(); ++i) {
    if (milestones[i] > milestones[i - 1]) continue;
    place.at("milestones")
        .at(i)
        .expected(fmt::format("a step after {}", milestones[i - 1]), json(milestones[i]));
  }
}

void check(const JobPlace& root, const Job& job) {
  check_name(root.at("name"), job.name);
  check_model(root.at("model"), job.model);
  require_one(root, {"data.batch", "data.batch_per_worker"}, job.data.batch.has_value(),
              job.data.batch_per_worker.has_value());
  require_one(root, {"epochs", "steps"}, job.epochs.has_value(), job.steps.has_value());
  check_dataset(root.at("data").at("train"), job.data.train);
  if (job.data.eval) check_dataset(root.at("data").at("eval"), *job.data.eval);
  check_transforms(root.at("data").at("transforms"), job.data.transforms);
  const JobPlace optimizer = root.at("optimizer");
  check_learning_rate(optimizer.at("learning_rate"), job.optimizer.learning_rate);
  if (job.optimizer.nesterov && job.optimizer.momentum == 0) {
    optimizer.at("nesterov").fail("needs optimizer.momentum above 0");
  }
  if (!job.parallel.shard_optimizer.value_or(true)) {
    root.at("parallel").at("shard_optimizer").fail("false is not built yet; use \"auto\" or true");
  }
}

Job read_job(const json& root, const std::string& origin) {
  const JobPlace place{origin, ""};
  Job job;
  job.name = default_name(origin);
  read_object(place, root, job);
  check(place, job);
  return job;
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw JobError(fmt::format("{}: expected a job file, found a folder", path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw JobError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string_view name_of(ModelKind value) {
  return name_in(kModelKinds, value);
}
std::string_view name_of(DataFormat value) {
  return name_in(kDataFormats, value);
}
std::string_view name_of(OptimizerKind value) {
  return name_in(kOptimizerKinds, value);
}
std::string_view name_of(Schedule value) {
  return name_in(kSchedules, value);
}
std::string_view name_of(Precision value) {
  return name_in(kPrecisions, value);
}
std::string_view name_of(BatchNorm value) {
  return name_in(kBatchNorms, value);
}
std::string_view name_of(Backend value) {
  return name_in(kBackends, value);
}
std::string_view name_of(WirePrecision value) {
  return name_in(kWirePrecisions, value);
}
std::string_view name_of(DeviceChoice value) {
  return name_in(kDevices, value);
}

std::int64_t effective_batch(const DataSpec& data, int world) {
  return data.batch ? *data.batch : *data.batch_per_worker * world;
}

Job parse_job(std::string_view text, const std::string& origin) {
  return read_job(parse_json(text, origin), origin);
}

Job load_job(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  json root = parse_json(read_file(path), path.string());
  for (const std::string& setting : overrides) apply_override(root, setting);
  return read_job(root, path.string());
}

json to_json(const Job& job) {
  return object_to_json(job);
}

}  // namespace lockstep::runtime
