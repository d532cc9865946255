#include "runtime/job_data.h"

namespace lockstep::runtime {
namespace {

data::BatchPlan batch_plan(const Job& job, const data::Source& source, int world, data::Mode mode) {
  return data::BatchPlan({.samples = static_cast<std::int64_t>(source.size()),
                          .batch = effective_batch(job.data, world),
                          .world = world,
                          .accumulate = mode == data::Mode::training ? job.accumulate : 1,
                          .mode = mode});
}

data::Pipeline pipeline(const Job& job, const data::Source& source, data::Mode mode) {
  return data::Pipeline(job.data.transforms, source.shape(), mode);
}

}  // namespace

Datasets open_datasets(const Job& job) {
  return {data::open_source(job, data::Split::train),
          job.data.eval ? data::open_source(job, data::Split::eval) : nullptr};
}

JobShape shape_of(const Job& job, const Datasets& datasets, int world, int evaluation_world) {
  const data::BatchPlan train = batch_plan(job, *datasets.train, world, data::Mode::training);
  JobShape shape{.image = pipeline(job, *datasets.train, data::Mode::training).output(),
                 .batch = effective_batch(job.data, world),
                 .capacity = train.capacity(),
                 .steps_per_epoch = train.steps_per_epoch()};
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
