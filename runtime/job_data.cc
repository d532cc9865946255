#include "runtime/job_data.h"

#include <optional>

namespace lockstep::runtime {
namespace {

data::BatchPlan batch_plan(const Job& job, const data::Source& source, int world, data::Mode mode) {
  return data::BatchPlan({.samples = static_cast<std::int64_t>(source.size()),
                          .batch = effective_batch(job.data, world),
                          .world = world,
                          .accumulate = mode == data::Mode::training ? job.accumulate : 1,
                          .mode = mode});
}

std::optional<data::Pipeline> pipeline(const Job& job, const data::Source& source,
                                       data::Mode mode) {
  return data::make_pipeline(job.data.transforms, source.shape(), mode);
}

data::SampleShape shape_in_batch(const Job& job, const data::Source& source) {
  const auto transforms = pipeline(job, source, data::Mode::training);
  return transforms ? data::SampleShape{.image = transforms->output()} : source.shape();
}

// A token must stand for the same in both sets.
void require_one_vocabulary(const data::Source& train, const data::Source& eval) {
  if (train.vocabulary() == eval.vocabulary()) return;
  throw data::DataError(
      "data.eval: a token does not stand for the same as in data.train, because text as characters "
      "numbers those of its own file: use parts of one file (from, to) for both sets, or "
      "\"vocabulary\": \"bytes\"");
}

}  // namespace

Datasets open_datasets(const Job& job, const data::SourceNeeds& needs) {
  Datasets datasets{data::open_source(job, data::Split::train, needs),
                    job.data.eval ? data::open_source(job, data::Split::eval, needs) : nullptr};
  if (datasets.eval) require_one_vocabulary(*datasets.train, *datasets.eval);
  return datasets;
}

JobShape shape_of(const Job& job, const Datasets& datasets, int world, int evaluation_world) {
  const data::BatchPlan train = batch_plan(job, *datasets.train, world, data::Mode::training);
  JobShape shape{.sample = shape_in_batch(job, *datasets.train),
                 .vocabulary = datasets.train->vocabulary(),
                 .batch = effective_batch(job.data, world),
                 .capacity = train.capacity(),
                 .steps_per_epoch = train.steps_per_epoch()};
  if (shape.sample.is_window()) {
    shape.token_values = job.model.vocabulary.value_or(datasets.train->classes());
  }
  shape.total_steps = job.steps ? *job.steps : *job.epochs * shape.steps_per_epoch;
  if (datasets.eval) {
    shape.evaluation_capacity =
        batch_plan(job, *datasets.eval, evaluation_world, data::Mode::evaluation).capacity();
  }
  return shape;
}

std::unique_ptr<data::Loader> make_loader(const Job& job, const data::Source& source,
                                          const Share& share, data::Mode mode) {
  return std::make_unique<data::Loader>(
      source, pipeline(job, source, mode),
      data::LoaderOptions{.seed = job.seed,
                          .rank = share.rank,
                          .world = share.world,
                          .batch = effective_batch(job.data, share.world),
                          .accumulate = mode == data::Mode::training ? job.accumulate : 1,
                          .mode = mode,
                          .threads = job.data.threads,
                          .prefetch = job.data.prefetch});
}

}  // namespace lockstep::runtime
