// The job file: what to train, on what data, how. JSON with // comments; docs/job-file.md describes
// it.
//
// A Job is plain data with every default filled in. Reading one checks every key, type and range,
// so that what holds a Job need not check it again. A key or value that this version cannot carry
// out is refused by name. Thread rule: all functions are pure but for load_job, which reads the
// file.
//
// The structs below, the reader, the writer and docs/job.schema.json agree because all but the
// structs come from one table (runtime/job_fields.h).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/device/visibility.h"

namespace lockstep::runtime {

// The job file is wrong: exit code 2. The message says file, key, what was expected, what was found
// and, for an unknown key or value, the nearest known one.
class LOCKSTEP_API JobError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Enumerators carry the names of the file; of the file's values only those that are built have one.
enum class ModelKind : std::uint8_t { mlp, lenet, resnet, gpt2, plugin };
enum class Stem : std::uint8_t { small, imagenet };
enum class DataFormat : std::uint8_t { idx, tokens, text, synthetic };
enum class TextVocabulary : std::uint8_t { characters, bytes };
enum class TransformKind : std::uint8_t { flip, crop, normalise };
enum class FlipDirection : std::uint8_t { horizontal };
enum class OptimizerKind : std::uint8_t { sgd, adamw };
enum class Schedule : std::uint8_t { constant, cosine, step, linear };
enum class DecayOn : std::uint8_t { matrices, all };
enum class Precision : std::uint8_t { fp32, bf16 };
enum class Recompute : std::uint8_t { none, block };
enum class BatchNorm : std::uint8_t { local, synchronised };
enum class Backend : std::uint8_t { automatic, host };
enum class WirePrecision : std::uint8_t { fp32 };
enum class DeviceChoice : std::uint8_t { automatic, cpu };

// The value's name in the job file ("adamw", "auto").
[[nodiscard]] LOCKSTEP_API std::string_view name_of(ModelKind value);
[[nodiscard]] LOCKSTEP_API std::string_view name_of(DataFormat value);
[[nodiscard]] LOCKSTEP_API std::string_view name_of(OptimizerKind value);
[[nodiscard]] LOCKSTEP_API std::string_view name_of(Schedule value);
[[nodiscard]] LOCKSTEP_API std::string_view name_of(Precision value);
[[nodiscard]] LOCKSTEP_API std::string_view name_of(BatchNorm value);
[[nodiscard]] LOCKSTEP_API std::string_view name_of(Backend value);
[[nodiscard]] LOCKSTEP_API std::string_view name_of(WirePrecision value);
[[nodiscard]] LOCKSTEP_API std::string_view name_of(DeviceChoice value);

struct ModelSpec {
  ModelKind kind = ModelKind::mlp;           // required in the file
  std::vector<std::int64_t> hidden = {128};  // mlp: widths of the hidden layers; [] for none
  Stem stem = Stem::small;                   // resnet
  // resnet. Small stem: 6n+2, 8 to 56, default 8; ImageNet's: 18, 34, 50, 101 or 152, default 50
  std::int64_t depth = 8;
  std::int64_t width = 16;    // resnet: channels of the first stage; default 64 for ImageNet's stem
  std::int64_t classes = 10;  // image models; labels are 0 to classes-1
  std::int64_t layers = 12;   // gpt2
  std::int64_t heads = 12;    // gpt2; divides its width
  std::int64_t token_width = 768;          // gpt2: key "width", features of a token
  std::int64_t context = 1024;             // gpt2: tokens of a sample
  std::optional<std::int64_t> vocabulary;  // gpt2, plugin; default "auto": the training data's
  double dropout = 0;                      // gpt2: in [0, 1)
  std::optional<std::filesystem::path>
      weights;                         // initial weights, a safetensors file; default: none
  std::filesystem::path plugin;        // plugin: key "path", required there; absolute after reading
  std::optional<std::int64_t> window;  // plugin: key "context", tokens of a sample; none: images
  std::string own_keys = "{}";         // plugin: all its other keys, the JSON text of an object
};

struct DatasetSpec {
  DataFormat format = DataFormat::synthetic;  // required in the file
  std::filesystem::path images;               // idx; absolute after reading
  std::filesystem::path labels;               // idx; absolute after reading
  std::int64_t samples = 0;                   // synthetic; required there
  std::filesystem::path path;  // text, tokens: required there; absolute after reading
  TextVocabulary vocabulary = TextVocabulary::characters;  // text
  double from = 0;  // text, tokens: the part that is used, as fractions of the file's tokens;
  double to = 1;    // from < to
};

// One of the list `data.transforms`, applied in order; `normalise`, if there, is the last.
struct TransformSpec {
  TransformKind kind = TransformKind::flip;             // required in the file
  FlipDirection direction = FlipDirection::horizontal;  // flip
  double probability = 0.5;                             // flip: 0 to 1
  std::int64_t padding = 0;          // crop: pixels of 0 added on each side before cutting
  std::optional<std::int64_t> size;  // crop: height and width cut out; default: the image's own
  std::vector<double>
      mean;                 // normalise: a channel, or one for all; in units of full white (0 to 1)
  std::vector<double> std;  // normalise: likewise, above 0
};

struct DataSpec {
  DatasetSpec train;                // required
  std::optional<DatasetSpec> eval;  // default: no evaluation
  // Exactly one of the two is set. Samples an optimizer step: over all workers and micro-steps, or
  // a worker's.
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> batch_per_worker;
  std::int64_t threads =
      2;  // loader threads a worker; 0: samples are decoded by the training thread
  std::int64_t prefetch = 2;              // batches a worker made ahead; at least 1
  std::vector<TransformSpec> transforms;  // default: none; pixels are then 0 to 1
  double bad_budget =
      0.001;  // share of damaged samples passed over; no effect on the formats that are built
};

struct LearningRateSpec {
  Schedule schedule = Schedule::constant;
  double peak = 0;                // required; above 0
  double final = 0;               // cosine, linear: the rate at the end of the decay
  std::int64_t warmup_steps = 0;  // linear rise from 0 to peak over the first steps
  std::int64_t decay_steps =
      0;  // cosine, linear: steps from the end of the warm-up to `final`; 0: the rest of the run
  std::vector<std::int64_t>
      milestones;  // step: the rate is multiplied by `factor` at each of these steps; ascending
  double factor = 0.1;  // step; above 0
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::sgd;
  LearningRateSpec learning_rate;             // required
  double momentum = 0.9;                      // sgd: in [0, 1); 0 for none
  bool nesterov = false;                      // sgd; needs momentum
  std::array<double, 2> betas = {0.9, 0.95};  // adamw: each in [0, 1)
  double epsilon = 1e-8;                      // adamw; above 0
  double weight_decay = 0;                    // at least 0
  DecayOn decay_on = DecayOn::matrices;       // matrices: no decay on biases and norms
  std::optional<double> clip_norm;            // above 0; default: no clipping
};

struct ParallelSpec {
  Backend backend = Backend::automatic;
  std::optional<double> bucket_mib;  // MiB a gradient bucket; default "auto": from the cost model
  bool overlap = true;               // false: reduce only after backward
  bool synchronise = true;  // false: no reduction at all; for benchmarks only, the replicas diverge
  std::optional<bool> shard_optimizer;  // default "auto": always; false is not built yet
  WirePrecision wire_precision = WirePrecision::fp32;
  double deadline_s = 600;  // seconds until a collective that has not ended fails; above 0
};

struct CheckpointPolicy {
  std::int64_t every_steps = 500;  // at least 1
  std::int64_t keep = 3;           // newest ones kept; at least 1
};

struct MetricsSpec {
  bool tensorboard = true;
};

struct Job {
  std::string name;  // default: the job file's name without ending; letters, digits and . _ -
  std::uint64_t seed = 1;
  ModelSpec model;          // required
  DataSpec data;            // required
  OptimizerSpec optimizer;  // required
  Precision precision = Precision::fp32;
  std::int64_t accumulate = 1;  // micro-steps an optimizer step; at least 1
  Recompute recompute = Recompute::none;
  BatchNorm batch_norm = BatchNorm::local;
  ParallelSpec parallel;
  DeviceChoice device = DeviceChoice::automatic;
  // Exactly one of the two is set, at least 1.
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> steps;
  std::int64_t eval_every_steps = 0;           // 0: only after the last step
  std::int64_t log_every_steps = 10;           // at least 1
  std::optional<CheckpointPolicy> checkpoint;  // default: none
  std::string resume =
      "never";  // "never", "auto", or the path of a checkpoint (relative to the current folder)
  MetricsSpec metrics;
};

// Samples an optimizer step over all workers and micro-steps. REQUIRES: world >= 1.
[[nodiscard]] LOCKSTEP_API std::int64_t effective_batch(const DataSpec& data, int world);

// Reads a job file's text. `origin` is the file's path: it is named in messages, gives the job its
// default name, and data paths are taken as relative to its folder. Throws JobError.
[[nodiscard]] LOCKSTEP_API Job parse_job(std::string_view text, const std::string& origin);

// Reads a job file and applies `overrides`, each "data.batch=64": a key's path and a value, read as
// JSON where it is JSON and taken as a string otherwise. Of batch/batch_per_worker and
// epochs/steps, the one that is overridden replaces the other. Throws JobError, also where the file
// cannot be read.
[[nodiscard]] LOCKSTEP_API Job load_job(const std::filesystem::path& path,
                                        const std::vector<std::string>& overrides = {});

// The resolved job, every default filled in; parse_job accepts its text and gives the same Job.
[[nodiscard]] LOCKSTEP_API nlohmann::json to_json(const Job& job);

// JSON Schema (2020-12) of what parse_job accepts; docs/job.schema.json is its text.
[[nodiscard]] LOCKSTEP_API nlohmann::json job_schema();

}  // namespace lockstep::runtime
