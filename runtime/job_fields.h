// The table of the job file's keys. Reader, writer and schema are visitors of it, so that each key,
// its range and its known values stand here once.
//
// A visitor has:
//   kind(Field, E&, choices)         a required choice that decides which keys follow
//   choice(Field, E&, choices)       one name of several
//   value(Field, T&)                 an integer, number, boolean, string, path or list;
//   optional<T>: or null automatic(Field, optional<T>&)   "auto" or a value object(Field, Spec&),
//   object(Field, optional<Spec>&), objects(Field, vector<Spec>&) unbuilt(Field) a known key that
//   must be null in this version
//   defaults(fill)                   fill() sets the defaults that follow from what was read so far
//   others(string&)                  comes last: all keys that no field asked for, as JSON text
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job.h"

namespace lockstep::runtime {

// The numbers that a field, or each entry of its list, may be.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  enum class End : std::uint8_t { included, excluded } least_end = End::included,
                                                       most_end = End::included;

  [[nodiscard]] bool has(double value) const {
    const bool above = least_end == End::included ? value >= least : value > least;
    const bool below = most_end == End::included ? value <= most : value < most;
    return above && below;
  }
};
constexpr Range between(double least, double most) {
  return {least, most};
}
constexpr Range above(double least) {
  return {least, std::numeric_limits<double>::max(), Range::End::excluded};
}
constexpr Range from_up_to(double least, double most) {
  return {least, most, Range::End::included, Range::End::excluded};
}

enum class Presence : std::uint8_t { optional, required };

struct Field {
  std::string_view key;
  std::string_view about;
  Range range = {};
  Presence presence = Presence::optional;
};

// A name that a key may have. Without a value: known, but not built in this version.
template <typename Enum>
struct Choice {
  std::string_view name;
  std::optional<Enum> value = std::nullopt;
};

inline constexpr std::array kModelKinds{Choice<ModelKind>{"mlp", ModelKind::mlp},
                                        Choice<ModelKind>{"lenet", ModelKind::lenet},
                                        Choice<ModelKind>{"resnet", ModelKind::resnet},
                                        Choice<ModelKind>{"gpt2", ModelKind::gpt2},
                                        Choice<ModelKind>{"llama"},
                                        Choice<ModelKind>{"dlrm"},
                                        Choice<ModelKind>{"yolov8"},
                                        Choice<ModelKind>{"plugin", ModelKind::plugin}};
inline constexpr std::array kStems{Choice<Stem>{"small", Stem::small},
                                   Choice<Stem>{"imagenet", Stem::imagenet}};
inline constexpr std::array kDataFormats{Choice<DataFormat>{"idx", DataFormat::idx},
                                         Choice<DataFormat>{"cifar"},
                                         Choice<DataFormat>{"tokens", DataFormat::tokens},
                                         Choice<DataFormat>{"text", DataFormat::text},
                                         Choice<DataFormat>{"imagefolder"},
                                         Choice<DataFormat>{"tfrecord"},
                                         Choice<DataFormat>{"lmdb"},
                                         Choice<DataFormat>{"hdf5"},
                                         Choice<DataFormat>{"webdataset"},
                                         Choice<DataFormat>{"criteo"},
                                         Choice<DataFormat>{"yolo"},
                                         Choice<DataFormat>{"csv"},
                                         Choice<DataFormat>{"synthetic", DataFormat::synthetic}};
inline constexpr std::array kTextVocabularies{
    Choice<TextVocabulary>{"characters", TextVocabulary::characters},
    Choice<TextVocabulary>{"bytes", TextVocabulary::bytes}};
inline constexpr std::array kTransformKinds{
    Choice<TransformKind>{"flip", TransformKind::flip},
    Choice<TransformKind>{"crop", TransformKind::crop},
    Choice<TransformKind>{"normalise", TransformKind::normalise}};
inline constexpr std::array kFlipDirections{
    Choice<FlipDirection>{"horizontal", FlipDirection::horizontal},
    Choice<FlipDirection>{"vertical"}};
inline constexpr std::array kOptimizerKinds{Choice<OptimizerKind>{"sgd", OptimizerKind::sgd},
                                            Choice<OptimizerKind>{"adamw", OptimizerKind::adamw}};
inline constexpr std::array kSchedules{
    Choice<Schedule>{"constant", Schedule::constant}, Choice<Schedule>{"cosine", Schedule::cosine},
    Choice<Schedule>{"step", Schedule::step}, Choice<Schedule>{"linear", Schedule::linear}};
inline constexpr std::array kDecayOns{Choice<DecayOn>{"matrices", DecayOn::matrices},
                                      Choice<DecayOn>{"all", DecayOn::all}};
inline constexpr std::array kPrecisions{Choice<Precision>{"fp32", Precision::fp32},
                                        Choice<Precision>{"bf16", Precision::bf16},
                                        Choice<Precision>{"fp16"}};
inline constexpr std::array kRecomputes{Choice<Recompute>{"none", Recompute::none},
                                        Choice<Recompute>{"block", Recompute::block}};
inline constexpr std::array kBatchNorms{Choice<BatchNorm>{"local", BatchNorm::local},
                                        Choice<BatchNorm>{"synchronised", BatchNorm::synchronised}};
inline constexpr std::array kBackends{Choice<Backend>{"auto", Backend::automatic},
                                      Choice<Backend>{"host", Backend::host},
                                      Choice<Backend>{"mpi"}, Choice<Backend>{"nccl"}};
inline constexpr std::array kWirePrecisions{Choice<WirePrecision>{"fp32", WirePrecision::fp32},
                                            Choice<WirePrecision>{"bf16"}};
inline constexpr std::array kDevices{Choice<DeviceChoice>{"auto", DeviceChoice::automatic},
                                     Choice<DeviceChoice>{"cpu", DeviceChoice::cpu},
                                     Choice<DeviceChoice>{"cuda"}};

// Upper ends that keep the product of any few of these far inside 64 bits.
inline constexpr double kMostSamples = 4294967295;  // an epoch's order has 32-bit indices
inline constexpr double kMostEpochs = 268435455;    // the random counters have 28 bits for it
inline constexpr double kMostSteps = 1e12;
inline constexpr double kMostBatch = 1e9;
inline constexpr double kMostWidth = 1e6;
inline constexpr double kMostPixels = 65536;
inline constexpr double kMostVocabulary = 1e8;

template <typename Visitor>
void visit_fields(Visitor& v, ModelSpec& model) {
  v.kind({"kind", "the network"}, model.kind, kModelKinds);
  if (model.kind == ModelKind::plugin) {
    v.value({"path", "shared library with the model", {}, Presence::required}, model.plugin);
    v.value({"context", "tokens of a sample; null: samples are images", between(1, kMostWidth)},
            model.window);
    v.automatic({"vocabulary", "token values", between(1, kMostVocabulary)}, model.vocabulary);
  }
  if (model.kind == ModelKind::mlp) {
    v.value({"hidden", "widths of the hidden layers", between(1, kMostWidth)}, model.hidden);
  }
  if (model.kind == ModelKind::resnet) {
    v.choice({"stem", "first layers: 3x3 for small images, or 7x7 and a pool"}, model.stem, kStems);
    v.defaults([&model] {
      if (model.stem == Stem::imagenet) model.depth = 50, model.width = 64;
    });
    v.value(
        {"depth", "layers: 6n+2 for the small stem, else 18, 34, 50, 101 or 152; default there 50",
         between(8, 152)},
        model.depth);
    v.value({"width", "channels of the first stage; default with the ImageNet stem 64",
             between(1, 4096)},
            model.width);
  }
  if (model.kind == ModelKind::gpt2) {
    v.value({"layers", "transformer blocks", between(1, 4096)}, model.layers);
    v.value({"heads", "attention heads; divides width", between(1, 4096)}, model.heads);
    v.value({"width", "features of a token", between(1, kMostWidth)}, model.token_width);
    v.value({"context", "tokens of a sample", between(1, kMostWidth)}, model.context);
    v.automatic({"vocabulary", "token values", between(1, kMostVocabulary)}, model.vocabulary);
    v.value({"dropout", "share of activations dropped in training", from_up_to(0, 1)},
            model.dropout);
  } else {
    v.value({"classes", "labels are 0 to classes-1", between(1, kMostWidth)}, model.classes);
  }
  v.value({"weights", "safetensors file of initial weights; null: drawn from the seed"},
          model.weights);
  if (model.kind == ModelKind::plugin) v.others(model.own_keys);
}

template <typename Visitor>
void visit_fields(Visitor& v, DatasetSpec& set) {
  v.kind({"format", "how the samples are stored"}, set.format, kDataFormats);
  if (set.format == DataFormat::idx) {
    v.value({"images", "IDX file of the images, plain or gzip", {}, Presence::required},
            set.images);
    v.value({"labels", "IDX file of the labels, plain or gzip", {}, Presence::required},
            set.labels);
  }
  if (set.format == DataFormat::text) {
    v.value({"path", "the text, plain or gzip", {}, Presence::required}, set.path);
    v.choice({"vocabulary", "what a token is: a character of the file, or a byte"}, set.vocabulary,
             kTextVocabularies);
  }
  if (set.format == DataFormat::tokens) {
    v.value({"path", "llm.c's or nanoGPT's file of tokens", {}, Presence::required}, set.path);
  }
  if (set.format == DataFormat::text || set.format == DataFormat::tokens) {
    v.value({"from", "where the part that is used begins, a fraction of the file's tokens",
             between(0, 1)},
            set.from);
    v.value({"to", "where it ends", between(0, 1)}, set.to);
  }
  if (set.format == DataFormat::synthetic) {
    v.value(
        {"samples", "how many samples to make up", between(1, kMostSamples), Presence::required},
        set.samples);
  }
}

template <typename Visitor>
void visit_fields(Visitor& v, TransformSpec& transform) {
  v.kind({"kind", "what is done to each image"}, transform.kind, kTransformKinds);
  if (transform.kind == TransformKind::flip) {
    v.choice({"direction", "horizontal: left and right are exchanged"}, transform.direction,
             kFlipDirections);
    v.value({"probability", "share of the images that are flipped", between(0, 1)},
            transform.probability);
  }
  if (transform.kind == TransformKind::crop) {
    v.value({"padding", "pixels of 0 added on each side before cutting", between(0, kMostPixels)},
            transform.padding);
    v.value({"size", "height and width cut out; null: the image's own", between(1, kMostPixels)},
            transform.size);
  }
  if (transform.kind == TransformKind::normalise) {
    v.value({"mean", "subtracted, a channel or one for all, white being 1", between(-1e6, 1e6),
             Presence::required},
            transform.mean);
    v.value({"std", "divided by, a channel or one for all", {1e-6, 1e6}, Presence::required},
            transform.std);
  }
}

template <typename Visitor>
void visit_fields(Visitor& v, DataSpec& data) {
  v.object({"train", "the training set", {}, Presence::required}, data.train);
  v.object({"eval", "the evaluation set; null: no evaluation"}, data.eval);
  v.value({"batch", "samples an optimizer step, over all workers and micro-steps",
           between(1, kMostBatch)},
          data.batch);
  v.value({"batch_per_worker", "samples an optimizer step of each worker, instead of batch",
           between(1, kMostBatch)},
          data.batch_per_worker);
  v.value({"threads", "loader threads a worker; 0: the training thread decodes", between(0, 256)},
          data.threads);
  v.value({"prefetch", "batches a worker made ahead", between(1, 1024)}, data.prefetch);
  v.objects({"transforms", "what is done to each image, in order"}, data.transforms);
  v.value({"bad_budget", "share of damaged samples passed over", between(0, 1)}, data.bad_budget);
}

template <typename Visitor>
void visit_fields(Visitor& v, LearningRateSpec& rate) {
  v.choice({"schedule", "how the rate changes after the warm-up"}, rate.schedule, kSchedules);
  v.value({"peak", "the highest rate", above(0), Presence::required}, rate.peak);
  v.value({"final", "the rate at the end of a cosine or linear decay", between(0, 1e30)},
          rate.final);
  v.value({"warmup_steps", "steps of linear rise to the peak", between(0, kMostSteps)},
          rate.warmup_steps);
  v.value({"decay_steps", "steps from the warm-up's end to the final rate; 0: the rest of the run",
           between(0, kMostSteps)},
          rate.decay_steps);
  v.value({"milestones", "step: steps at which the rate is multiplied", between(1, kMostSteps)},
          rate.milestones);
  v.value({"factor", "step: what it is multiplied by", above(0)}, rate.factor);
}

template <typename Visitor>
void visit_fields(Visitor& v, OptimizerSpec& optimizer) {
  v.choice({"kind", "the optimizer"}, optimizer.kind, kOptimizerKinds);
  v.object({"learning_rate", "the learning rate and its schedule", {}, Presence::required},
           optimizer.learning_rate);
  v.value({"momentum", "sgd: momentum; 0 for none", from_up_to(0, 1)}, optimizer.momentum);
  v.value({"nesterov", "sgd: Nesterov's momentum"}, optimizer.nesterov);
  v.value({"betas", "adamw: decay of the two moments", from_up_to(0, 1)}, optimizer.betas);
  v.value({"epsilon", "adamw: added to the denominator", above(0)}, optimizer.epsilon);
  v.value({"weight_decay", "decay of the weights", between(0, 1e6)}, optimizer.weight_decay);
  v.choice({"decay_on", "matrices: biases and norms do not decay"}, optimizer.decay_on, kDecayOns);
  v.value({"clip_norm", "largest norm of the whole gradient; null: no clipping", above(0)},
          optimizer.clip_norm);
}

template <typename Visitor>
void visit_fields(Visitor& v, ParallelSpec& parallel) {
  v.choice({"backend", "what sums the gradients"}, parallel.backend, kBackends);
  v.automatic({"bucket_mib", "MiB a gradient bucket", above(0)}, parallel.bucket_mib);
  v.value({"overlap", "reduce while backward runs"}, parallel.overlap);
  v.value({"synchronise", "false: no reduction, for benchmarks only"}, parallel.synchronise);
  v.automatic({"shard_optimizer", "each worker keeps a part of the optimizer's state"},
              parallel.shard_optimizer);
  v.choice({"wire_precision", "precision of the gradients between workers"},
           parallel.wire_precision, kWirePrecisions);
  v.value({"deadline_s", "seconds until a collective that has not ended fails", above(0)},
          parallel.deadline_s);
}

template <typename Visitor>
void visit_fields(Visitor& v, CheckpointPolicy& checkpoint) {
  v.value({"every_steps", "steps between checkpoints", between(1, kMostSteps)},
          checkpoint.every_steps);
  v.value({"keep", "newest checkpoints kept", between(1, 1e6)}, checkpoint.keep);
}

template <typename Visitor>
void visit_fields(Visitor& v, MetricsSpec& metrics) {
  v.value({"tensorboard", "write TensorBoard's scalars"}, metrics.tensorboard);
  v.unbuilt({"prometheus", "address of a metrics server"});
}

template <typename Visitor>
void visit_fields(Visitor& v, Job& job) {
  v.value({"name", "the run's folder; default: the job file's name"}, job.name);
  v.value({"seed", "of weights, order and augmentation"}, job.seed);
  v.object({"model", "what is trained", {}, Presence::required}, job.model);
  v.object({"data", "what it is trained on", {}, Presence::required}, job.data);
  v.object({"optimizer", "how weights are updated", {}, Presence::required}, job.optimizer);
  v.choice({"precision", "of computation"}, job.precision, kPrecisions);
  v.value({"accumulate", "micro-steps an optimizer step", between(1, 1e6)}, job.accumulate);
  v.choice({"recompute", "what backward computes again instead of keeping"}, job.recompute,
           kRecomputes);
  v.choice({"batch_norm", "statistics over the worker's or the global batch"}, job.batch_norm,
           kBatchNorms);
  v.object({"parallel", "how workers work together"}, job.parallel);
  v.choice({"device", "what computes"}, job.device, kDevices);
  v.value({"epochs", "passes over the training set", between(1, kMostEpochs)}, job.epochs);
  v.value({"steps", "optimizer steps, instead of epochs", between(1, kMostSteps)}, job.steps);
  v.value({"eval_every_steps", "steps between evaluations; 0: only after the last step",
           between(0, kMostSteps)},
          job.eval_every_steps);
  v.value({"log_every_steps", "steps between lines of the log", between(1, kMostSteps)},
          job.log_every_steps);
  v.object({"checkpoint", "when the state is saved; null: never"}, job.checkpoint);
  v.value({"resume", "never, auto, or the path of a checkpoint"}, job.resume);
  v.unbuilt({"profile", "which steps to profile"});
  v.object({"metrics", "what is written while training"}, job.metrics);
}

// One of each kind of a spec that has kinds: what the schema lists.
template <typename Spec>
std::vector<Spec> variants() {
  return {Spec{}};
}
template <typename Spec, typename Enum, std::size_t N>
std::vector<Spec> variants_by(Enum Spec::*kind, const std::array<Choice<Enum>, N>& choices) {
  std::vector<Spec> all;
  for (const Choice<Enum>& choice : choices) {
    if (choice.value) all.emplace_back().*kind = *choice.value;
  }
  return all;
}
template <>
inline std::vector<ModelSpec> variants() {
  return variants_by(&ModelSpec::kind, kModelKinds);
}
template <>
inline std::vector<DatasetSpec> variants() {
  return variants_by(&DatasetSpec::format, kDataFormats);
}
template <>
inline std::vector<TransformSpec> variants() {
  return variants_by(&TransformSpec::kind, kTransformKinds);
}

// REQUIRES: the value stands in the table.
template <typename Enum, std::size_t N>
std::string_view name_in(const std::array<Choice<Enum>, N>& choices, Enum value) {
  for (const Choice<Enum>& choice : choices) {
    if (choice.value == value) return choice.name;
  }
  return {};
}

}  // namespace lockstep::runtime
