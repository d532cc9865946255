#include "runtime/from_job.h"

#include "engine/error.h"
#include "engine/models/models.h"
#include "runtime/model_plugin.h"

namespace lockstep::runtime {
namespace {

engine::ScheduleKind schedule_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::constant:
      return engine::ScheduleKind::constant;
    case Schedule::cosine:
      return engine::ScheduleKind::cosine;
    case Schedule::step:
      return engine::ScheduleKind::step;
    case Schedule::linear:
      return engine::ScheduleKind::linear;
  }
  throw engine::Error("unknown learning-rate schedule");
}

}  // namespace

engine::ModelFunction model_of(const ModelSpec& spec, const engine::SampleShape& sample,
                               std::int64_t vocabulary) {
  switch (spec.kind) {
    case ModelKind::mlp:
      return engine::models::mlp(spec.hidden, spec.classes);
    case ModelKind::lenet:
      return engine::models::lenet(spec.classes);
    case ModelKind::plugin:
      return model_of_plugin({.file = spec.plugin, .keys = spec.own_keys}, sample,
                             sample.is_tokens() ? vocabulary : spec.classes);
    case ModelKind::gpt2:
      return engine::models::gpt2({.layers = spec.layers,
                                   .heads = spec.heads,
                                   .width = spec.token_width,
                                   .context = spec.context,
                                   .vocabulary = vocabulary,
                                   .dropout = spec.dropout});
    case ModelKind::resnet:
      if (spec.stem == Stem::imagenet) {
        return engine::models::imagenet_resnet(
            {.depth = spec.depth, .width = spec.width, .classes = spec.classes});
      }
      return engine::models::small_resnet(
          {.depth = spec.depth, .width = spec.width, .classes = spec.classes});
  }
  throw engine::Error("unknown model kind");
}

engine::OptimizerOptions optimizer_of(const OptimizerSpec& spec, std::int64_t total_steps) {
  const LearningRateSpec& rate = spec.learning_rate;
  const std::int64_t decay_end =
      rate.decay_steps > 0 ? rate.warmup_steps + rate.decay_steps : total_steps;
  return {.kind = spec.kind == OptimizerKind::sgd ? engine::OptimizerKind::sgd
                                                  : engine::OptimizerKind::adamw,
          .schedule = {.kind = schedule_of(rate.schedule),
                       .peak = rate.peak,
                       .final = rate.final,
                       .warmup_steps = rate.warmup_steps,
                       .decay_steps = decay_end,
                       .milestones = rate.milestones,
                       .factor = rate.factor},
          .momentum = spec.momentum,
          .nesterov = spec.nesterov,
          .beta1 = spec.betas[0],
          .beta2 = spec.betas[1],
          .epsilon = spec.epsilon,
          .weight_decay = spec.weight_decay,
          .decay_on =
              spec.decay_on == DecayOn::matrices ? engine::DecayOn::matrices : engine::DecayOn::all,
          .clip_norm = spec.clip_norm};
}

data::SourceNeeds needs_of(const Job& job) {
  const ModelSpec& model = job.model;
  const bool gpt2 = model.kind == ModelKind::gpt2;
  if (!gpt2 && !model.window) return {};
  return {.context = gpt2 ? model.context : *model.window,
          .vocabulary = model.vocabulary.value_or(0)};
}

engine::Precision precision_of(Precision precision) {
  return precision == Precision::fp32 ? engine::Precision::fp32 : engine::Precision::bf16;
}

engine::Recompute recompute_of(Recompute recompute) {
  return recompute == Recompute::none ? engine::Recompute::none : engine::Recompute::block;
}

parallel::DataParallelOptions parallel_of(const Job& job) {
  parallel::DataParallelOptions options;
  options.batch_norm = job.batch_norm == BatchNorm::synchronised
                           ? parallel::BatchNormPolicy::synchronised
                           : parallel::BatchNormPolicy::local;
  options.overlap = job.parallel.overlap;
  if (job.parallel.bucket_mib) {
    options.largest_bucket = static_cast<std::size_t>(*job.parallel.bucket_mib * (1 << 20));
  }
  return options;
}

}  // namespace lockstep::runtime
