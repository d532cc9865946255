// Batch normalisation. Samples whose weight is not 1 are padding: they are left out of every sum
// and have no gradient. Statistics are double; the rest is float.
#include <algorithm>
#include <cmath>

#include "engine/cpu/batch_norm_loops.h"
#include "engine/cpu/families.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

Images images_of(const Shape& x) {
  return {x[0], x[1] * x[2], x[3]};
}

// Images are summed in at most this many pieces, each with sums of its own.
constexpr std::int64_t kMostPieces = 16;
std::int64_t images_a_piece(const Images& images) {
  return (images.count + kMostPieces - 1) / kMostPieces;
}
std::int64_t pieces_of(const Images& images) {
  const std::int64_t each = images_a_piece(images);
  return (images.count + each - 1) / each;
}
std::size_t partial_sums_bytes(const Images& images) {
  return static_cast<std::size_t>(pieces_of(images) * 2 * images.channels) * sizeof(double);
}

Tables tables_in(std::byte* workspace, std::int64_t channels) {
  float* begin = reinterpret_cast<float*>(workspace);
  return {begin, begin + channels, begin + 2 * channels};
}
std::size_t tables_bytes(std::int64_t channels) {
  return static_cast<std::size_t>(3 * channels) * sizeof(float);
}

struct Moments {
  double mean, variance;
};
Moments moments_of(const double* statistics, std::int64_t channels, std::int64_t c) {
  const double count = statistics[2 * channels];
  if (count <= 0) return {0, 0};
  const double mean = statistics[c] / count;
  return {mean, std::max(0.0, statistics[channels + c] / count - mean * mean)};
}

// Two sums a channel, over images of weight 1.
struct ImageSums {
  const float* weights;
  double* partial;  // of each piece
  double* out;      // [2 * channels]
};

// Sums add(image, sums) in fixed pieces, so that the bits do not depend on the number of threads.
template <class Add>
void sum_images(int threads, const Images& images, const ImageSums& to, Add add) {
  const std::int64_t each = images_a_piece(images), pieces = pieces_of(images),
                     words = 2 * images.channels;
  for_pieces(threads, pieces, [&](std::int64_t piece) {
    double* sums = to.partial + piece * words;
    std::fill(sums, sums + words, 0.0);
    for (std::int64_t n = piece * each; n < std::min(images.count, (piece + 1) * each); ++n) {
      if (to.weights[n] == 1.0F) add(n, sums);
    }
  });
  std::fill(to.out, to.out + words, 0.0);
  for (std::int64_t i = 0; i < pieces * words; ++i) to.out[i % words] += to.partial[i];
}

Kernel bind_statistics(const Context& context, const Binding& b) {
  return [context, s = images_of(b.input(0).shape), x = b.in<float>(0), weights = b.in<float>(1),
          out = b.out<double>(0), partial = reinterpret_cast<double*>(b.workspace)] {
    sum_images(context.threads, s, {weights, partial, out},
               [&](std::int64_t n, double* sums) { add_squares(x + n * s.elements(), s, sums); });
    const auto samples = std::count(weights, weights + s.count, 1.0F);
    out[2 * s.channels] = static_cast<double>(samples * s.pixels);
  };
}

void normalise(const Context& context, const Normalisation& n, const Tables& tables) {
  for_pieces(context.threads, n.images.count,
             [&](std::int64_t i) { normalise_image(n, tables, i * n.images.elements()); });
}

Normalisation normalisation_of(const Binding& b, std::size_t residual) {
  return {.images = images_of(b.input(0).shape),
          .x = b.in<float>(0),
          .residual = b.in<float>(residual),
          .y = b.out<float>(0),
          .relu = b.node.attributes.integer_or("relu", 0) != 0};
}

Kernel bind_forward(const Context& context, const Binding& b) {
  const Normalisation n = normalisation_of(b, 4);
  return [context, n, statistics = b.in<double>(1), gamma = b.in<float>(2), beta = b.in<float>(3),
          tables = tables_in(b.workspace, n.images.channels),
          epsilon = b.node.attributes.real("epsilon")] {
    for (std::int64_t c = 0; c < n.images.channels; ++c) {
      const Moments m = moments_of(statistics, n.images.channels, c);
      tables.mean[c] = static_cast<float>(m.mean);
      tables.scale[c] =
          static_cast<float>(static_cast<double>(gamma[c]) / std::sqrt(m.variance + epsilon));
      tables.shift[c] = beta[c];
    }
    normalise(context, n, tables);
  };
}

Kernel bind_inference(const Context& context, const Binding& b) {
  const Normalisation n = normalisation_of(b, 5);
  return [context, n, gamma = b.in<float>(1), beta = b.in<float>(2), mean = b.in<float>(3),
          variance = b.in<float>(4), tables = tables_in(b.workspace, n.images.channels),
          epsilon = b.node.attributes.real("epsilon")] {
    for (std::int64_t c = 0; c < n.images.channels; ++c) {
      tables.mean[c] = mean[c];
      tables.scale[c] = static_cast<float>(static_cast<double>(gamma[c]) /
                                           std::sqrt(static_cast<double>(variance[c]) + epsilon));
      tables.shift[c] = beta[c];
    }
    normalise(context, n, tables);
  };
}

Kernel bind_backward_statistics(const Context& context, const Binding& b) {
  const Images s = images_of(b.input(0).shape);
  double* partial = reinterpret_cast<double*>(b.workspace);
  const Tables tables = tables_in(b.workspace + partial_sums_bytes(s), s.channels);
  return [context, s, partial, tables, x = b.in<float>(0), statistics = b.in<double>(1),
          dy = b.in<float>(2), y = b.in<float>(3), weights = b.in<float>(4), out = b.out<double>(0),
          epsilon = b.node.attributes.real("epsilon"),
          relu = b.node.attributes.integer_or("relu", 0) != 0] {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const Moments m = moments_of(statistics, s.channels, c);
      tables.mean[c] = static_cast<float>(m.mean);
      tables.scale[c] = static_cast<float>(1.0 / std::sqrt(m.variance + epsilon));
    }
    const BackwardSums k{s, tables.mean, tables.scale, relu};
    sum_images(context.threads, s, {weights, partial, out}, [&](std::int64_t n, double* sums) {
      const std::int64_t at = n * s.elements();
      add_gradients(k, {x + at, dy + at, y + at}, sums);
    });
  };
}

Kernel bind_parameter_gradients(const Binding& b) {
  return [sums = b.in<double>(0), gamma = b.out<float>(0), beta = b.out<float>(1),
          channels = b.output(0).shape[0]] {
    for (std::int64_t c = 0; c < channels; ++c) {
      beta[c] = static_cast<float>(sums[c]);
      gamma[c] = static_cast<float>(sums[channels + c]);
    }
  };
}

Kernel bind_backward(const Context& context, const Binding& b) {
  const BackwardImages k{.images = images_of(b.input(0).shape),
                         .x = b.in<float>(0),
                         .dy = b.in<float>(4),
                         .y = b.in<float>(5),
                         .dx = b.out<float>(0),
                         .dresidual = b.outputs.size() > 1 ? b.out<float>(1) : nullptr,
                         .relu = b.node.attributes.integer_or("relu", 0) != 0};
  const std::int64_t channels = k.images.channels;
  float* begin = reinterpret_cast<float*>(b.workspace);
  const BackwardTables tables{begin, begin + channels, begin + 2 * channels, begin + 3 * channels};
  return [context, k, channels, tables, statistics = b.in<double>(1), gamma = b.in<float>(2),
          sums = b.in<double>(3), weights = b.in<float>(6),
          epsilon = b.node.attributes.real("epsilon")] {
    const double count = std::max(1.0, statistics[2 * channels]);
    for (std::int64_t c = 0; c < channels; ++c) {
      const Moments m = moments_of(statistics, channels, c);
      const double inverse = 1.0 / std::sqrt(m.variance + epsilon);
      tables.mean[c] = static_cast<float>(m.mean);
      tables.scale[c] = static_cast<float>(static_cast<double>(gamma[c]) * inverse);
      tables.mean_dy[c] = static_cast<float>(sums[c] / count);
      tables.slope[c] = static_cast<float>(sums[channels + c] / count * inverse);
    }
    for_pieces(context.threads, k.images.count, [&](std::int64_t n) {
      const std::int64_t elements = k.images.elements(), at = n * elements;
      if (weights[n] == 1.0F) return backward_image(k, tables, at);
      std::fill(k.dx + at, k.dx + at + elements, 0.0F);
      if (k.dresidual) std::fill(k.dresidual + at, k.dresidual + at + elements, 0.0F);
    });
  };
}

Kernel bind_running(const Binding& b) {
  return [statistics = b.in<double>(0), early = b.in<double>(3), mean = b.out<float>(0),
          variance = b.out<float>(1), channels = b.output(0).shape[0],
          momentum = b.node.attributes.real("momentum")] {
    if (early && early[3] != 0) return;
    const double count = statistics[2 * channels];
    // One element has no unbiased variance; a NaN would stay for ever.
    const bool sound = count > 1 && std::all_of(statistics, statistics + 2 * channels,
                                                [](double v) { return std::isfinite(v); });
    if (!sound) return;
    for (std::int64_t c = 0; c < channels; ++c) {
      const Moments m = moments_of(statistics, channels, c);
      const double unbiased = m.variance * count / (count - 1);
      mean[c] =
          static_cast<float>((1 - momentum) * static_cast<double>(mean[c]) + momentum * m.mean);
      variance[c] = static_cast<float>((1 - momentum) * static_cast<double>(variance[c]) +
                                       momentum * unbiased);
    }
  };
}

}  // namespace

Family batch_norm_kernels(const Context& context) {
  auto with = [&context](auto bind) {
    return [context, bind](const Binding& binding) { return bind(context, binding); };
  };
  auto needs = [](std::size_t (*bytes)(const Images&)) {
    return [bytes](const Graph& graph, const Node& node) {
      return OperandWishes{.workspace = bytes(images_of(graph.value(node.inputs[0]).shape))};
    };
  };
  auto tables = [](const Images& s) { return tables_bytes(s.channels); };
  auto both = [](const Images& s) { return partial_sums_bytes(s) + tables_bytes(s.channels); };
  auto backward = [](const Images& s) { return tables_bytes(2 * s.channels); };
  return {{.op = "batch_norm_statistics",
           .bind = with(bind_statistics),
           .wishes = needs(partial_sums_bytes)},
          {.op = "batch_norm", .bind = with(bind_forward), .wishes = needs(tables)},
          {.op = "batch_norm_backward_statistics",
           .bind = with(bind_backward_statistics),
           .wishes = needs(both)},
          {.op = "batch_norm_parameter_gradients", .bind = bind_parameter_gradients},
          {.op = "batch_norm_backward", .bind = with(bind_backward), .wishes = needs(backward)},
          {.op = "batch_norm_inference", .bind = with(bind_inference), .wishes = needs(tables)},
          {.op = "running_statistics", .bind = bind_running}};
}

}  // namespace lockstep::engine::cpu
