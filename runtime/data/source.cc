#include "runtime/data/source.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "runtime/data/token_sequence.h"
#include "runtime/data/windows.h"

namespace lockstep::runtime::data {
namespace {

struct Wanted {
  const Job& job;
  const DatasetSpec& spec;
  Split split;
  const SourceNeeds& needs;
};

std::unique_ptr<Source> open_synthetic(const Wanted& wanted) {
  const auto samples = static_cast<std::size_t>(wanted.spec.samples);
  const ModelSpec& model = wanted.job.model;
  if (wanted.needs.context > 0) {
    return make_synthetic_tokens({.samples = samples,
                                  .context = wanted.needs.context,
                                  .vocabulary = wanted.needs.vocabulary,
                                  .seed = wanted.job.seed,
                                  .split = wanted.split});
  }
  return make_synthetic({.samples = samples,
                         .shape = model.kind != ModelKind::resnet ? ImageShape{28, 28, 1}
                                  : model.stem == Stem::imagenet  ? ImageShape{224, 224, 3}
                                                                  : ImageShape{32, 32, 3},
                         .classes = model.classes,
                         .seed = wanted.job.seed,
                         .split = wanted.split});
}

std::unique_ptr<Source> open_windows(const Wanted& wanted) {
  const DatasetSpec& spec = wanted.spec;
  auto sequence = spec.format == DataFormat::text ? read_text(spec.path, spec.vocabulary)
                                                  : open_token_file(spec.path);
  if (wanted.needs.vocabulary > 0) require_below(*sequence, wanted.needs.vocabulary);
  return make_windows(std::move(sequence), {.context = wanted.needs.context,
                                            .from = spec.from,
                                            .to = spec.to,
                                            .split = wanted.split,
                                            .seed = wanted.job.seed});
}

// Throws where the format holds what the model does not take.
void require_kind(const Wanted& wanted) {
  const DataFormat format = wanted.spec.format;
  if (format == DataFormat::synthetic) return;
  const bool tokens = format == DataFormat::text || format == DataFormat::tokens;
  const bool wants_tokens = wanted.needs.context > 0;
  if (tokens == wants_tokens) return;
  const std::string_view remedy = wants_tokens ? "text, tokens or synthetic"
                                  : wanted.job.model.kind == ModelKind::plugin
                                      ? "idx or synthetic, or give the plug-in a model.context"
                                      : "idx or synthetic, or a model of tokens";
  throw DataError(fmt::format("data.{}.format: the model {} takes {}, but \"{}\" holds {}: use {}",
                              wanted.split == Split::train ? "train" : "eval",
                              name_of(wanted.job.model.kind), wants_tokens ? "tokens" : "images",
                              name_of(format), tokens ? "tokens" : "images", remedy));
}

}  // namespace

std::string ImageShape::text() const {
  return fmt::format("{}x{}x{}", height, width, channels);
}

std::string SampleShape::text() const {
  return is_window() ? fmt::format("windows of {} tokens", context)
                     : fmt::format("images of {}", image.text());
}

std::unique_ptr<Source> open_source(const Job& job, Split split, const SourceNeeds& needs) {
  if (split == Split::eval && !job.data.eval) {
    throw DataError("data.eval: the job names no evaluation set");
  }
  const Wanted wanted{job, split == Split::train ? job.data.train : *job.data.eval, split, needs};
  require_kind(wanted);
  switch (wanted.spec.format) {
    case DataFormat::idx:
      return open_idx(wanted.spec.images, wanted.spec.labels, job.model.classes);
    case DataFormat::text:
    case DataFormat::tokens:
      return open_windows(wanted);
    case DataFormat::synthetic:
      break;
  }
  return open_synthetic(wanted);
}

}  // namespace lockstep::runtime::data
