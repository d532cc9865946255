#include "runtime/data/source.h"

#include <fmt/format.h>

namespace lockstep::runtime::data {

std::string ImageShape::text() const {
  return fmt::format("{}x{}x{}", height, width, channels);
}

std::unique_ptr<Source> open_source(const Job& job, Split split) {
  if (split == Split::eval && !job.data.eval) {
    throw DataError("data.eval: the job names no evaluation set");
  }
  const DatasetSpec& spec = split == Split::train ? job.data.train : *job.data.eval;
  if (spec.format == DataFormat::idx) {
    return open_idx(spec.images, spec.labels, job.model.classes);
  }
  SyntheticOptions options;
  options.samples = static_cast<std::size_t>(spec.samples);
  options.shape = job.model.kind != ModelKind::resnet ? ImageShape{28, 28, 1}
                  : job.model.stem == Stem::imagenet  ? ImageShape{224, 224, 3}
                                                      : ImageShape{32, 32, 3};
  options.classes = job.model.classes;
  options.seed = job.seed;
  options.split = split;
  return make_synthetic(options);
}

}  // namespace lockstep::runtime::data
