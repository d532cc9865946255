// Batch normalisation. Samples whose weight is not 1 are padding: they are left out of every sum
// and have no gradient. Statistics are double; the rest is float. Activations may be stored
// in either type.
#include <algorithm>
#include <cmath>

#include "engine/cpu/batch_norm_loops.h"
#include "engine/cpu/families.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

struct Images {
  std::int64_t count, pixels, channels;
  // Tables of a value a channel are as long as loops over whole vectors read.
  [[nodiscard]] std::int64_t table() const { return in_vectors(channels); }
  [[nodiscard]] Pixels image(std::int64_t n) const {
    return {n * pixels * channels, pixels, channels};
  }
};
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
  return static_cast<std::size_t>(pieces_of(images) * 2 * images.table()) * sizeof(double);
}

Tables tables_in(std::byte* workspace, const Images& images) {
  float* begin = reinterpret_cast<float*>(workspace);
  return {begin, begin + images.table(), begin + 2 * images.table()};
}
std::size_t tables_bytes(const Images& images, std::int64_t tables) {
  return static_cast<std::size_t>(tables * images.table()) * sizeof(float);
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

// Sums add(pixels, sums) in fixed pieces, so that the bits do not depend on the number of threads.
template <class Add>
void sum_images(int threads, const Images& images, const ImageSums& to, Add add) {
  const std::int64_t each = images_a_piece(images), pieces = pieces_of(images),
                     words = 2 * images.table(), channels = images.channels;
  for_pieces(threads, pieces, [&](std::int64_t piece) {
    double* sums = to.partial + piece * words;
    std::fill(sums, sums + words, 0.0);
    for (std::int64_t n = piece * each; n < std::min(images.count, (piece + 1) * each); ++n) {
      if (to.weights[n] == 1.0F) add(images.image(n), Sums{sums, sums + images.table()});
    }
  });
  std::fill(to.out, to.out + 2 * channels, 0.0);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const double* sums = to.partial + piece * words;
    for (std::int64_t c = 0; c < channels; ++c) {
      to.out[c] += sums[c];
      to.out[channels + c] += sums[images.table() + c];
    }
  }
}

Kernel bind_statistics(const Context& context, const Binding& b) {
  return
      [context, s = images_of(b.input(0).shape), x = stored_input(b, 0), weights = b.in<float>(1),
       out = b.out<double>(0), partial = reinterpret_cast<double*>(b.workspace)] {
        sum_images(context.threads, s, {weights, partial, out},
                   [&](const Pixels& pixels, const Sums& sums) { add_squares(x, pixels, sums); });
        const auto samples = std::count(weights, weights + s.count, 1.0F);
        out[2 * s.channels] = static_cast<double>(samples * s.pixels);
      };
}

bool has_relu(const Binding& b) {
  return b.node.attributes.integer_or("relu", 0) != 0;
}

Normalisation normalisation_of(const Binding& b, std::size_t residual) {
  return {.x = stored_input(b, 0),
          .residual = stored_input(b, residual),
          .y = stored_output(b, 0),
          .relu = has_relu(b)};
}

void normalise_all(int threads, const Images& images, const Normalisation& n,
                   const Tables& tables) {
  for_pieces(threads, images.count, [&](std::int64_t i) { normalise(n, tables, images.image(i)); });
}

Kernel bind_forward(const Context& context, const Binding& b) {
  const Images s = images_of(b.input(0).shape);
  return [context, s, n = normalisation_of(b, 4), statistics = b.in<double>(1),
          gamma = b.in<float>(2), beta = b.in<float>(3), tables = tables_in(b.workspace, s),
          epsilon = b.node.attributes.real("epsilon")] {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const Moments m = moments_of(statistics, s.channels, c);
      tables.mean[c] = static_cast<float>(m.mean);
      tables.scale[c] =
          static_cast<float>(static_cast<double>(gamma[c]) / std::sqrt(m.variance + epsilon));
      tables.shift[c] = beta[c];
    }
    normalise_all(context.threads, s, n, tables);
  };
}

Kernel bind_inference(const Context& context, const Binding& b) {
  const Images s = images_of(b.input(0).shape);
  return [context, s, n = normalisation_of(b, 5), gamma = b.in<float>(1), beta = b.in<float>(2),
          mean = b.in<float>(3), variance = b.in<float>(4), tables = tables_in(b.workspace, s),
          epsilon = b.node.attributes.real("epsilon")] {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      tables.mean[c] = mean[c];
      tables.scale[c] = static_cast<float>(static_cast<double>(gamma[c]) /
                                           std::sqrt(static_cast<double>(variance[c]) + epsilon));
      tables.shift[c] = beta[c];
    }
    normalise_all(context.threads, s, n, tables);
  };
}

// The output, of which the backward pass needs the sign where there is a relu, and else nothing.
StoredInput output_of(const Binding& b, std::size_t i) {
  return has_relu(b) ? stored_input(b, i) : StoredInput{};
}

Kernel bind_backward_statistics(const Context& context, const Binding& b) {
  const Images s = images_of(b.input(0).shape);
  const Tables tables = tables_in(b.workspace + partial_sums_bytes(s), s);
  const BackwardSums k{.x = stored_input(b, 0),
                       .dy = stored_input(b, 2),
                       .y = output_of(b, 3),
                       .mean = tables.mean,
                       .inverse = tables.scale};
  return [context, s, k, tables, partial = reinterpret_cast<double*>(b.workspace),
          statistics = b.in<double>(1), weights = b.in<float>(4), out = b.out<double>(0),
          epsilon = b.node.attributes.real("epsilon")] {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const Moments m = moments_of(statistics, s.channels, c);
      tables.mean[c] = static_cast<float>(m.mean);
      tables.scale[c] = static_cast<float>(1.0 / std::sqrt(m.variance + epsilon));
    }
    sum_images(context.threads, s, {weights, partial, out},
               [&](const Pixels& pixels, const Sums& sums) { add_gradients(k, pixels, sums); });
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

void clear(const StoredOutput& output, const Pixels& pixels) {
  if (!output.present()) return;
  const std::int64_t size = output.low ? sizeof(BFloat16) : sizeof(float);
  std::fill_n(output.data + pixels.first * size, pixels.count * pixels.channels * size,
              std::byte{0});
}

Kernel bind_backward(const Context& context, const Binding& b) {
  const Images s = images_of(b.input(0).shape);
  const BackwardImages k{.x = stored_input(b, 0),
                         .dy = stored_input(b, 4),
                         .y = output_of(b, 5),
                         .dx = stored_output(b, 0),
                         .dresidual = stored_output(b, 1)};
  float* begin = reinterpret_cast<float*>(b.workspace);
  const BackwardTables tables{begin, begin + s.table(), begin + 2 * s.table(),
                              begin + 3 * s.table()};
  return [context, s, k, tables, statistics = b.in<double>(1), gamma = b.in<float>(2),
          sums = b.in<double>(3), weights = b.in<float>(6),
          epsilon = b.node.attributes.real("epsilon")] {
    const double count = std::max(1.0, statistics[2 * s.channels]);
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const Moments m = moments_of(statistics, s.channels, c);
      const double inverse = 1.0 / std::sqrt(m.variance + epsilon);
      tables.mean[c] = static_cast<float>(m.mean);
      tables.scale[c] = static_cast<float>(static_cast<double>(gamma[c]) * inverse);
      tables.mean_dy[c] = static_cast<float>(sums[c] / count);
      tables.slope[c] = static_cast<float>(sums[s.channels + c] / count * inverse);
    }
    for_pieces(context.threads, s.count, [&](std::int64_t n) {
      if (weights[n] == 1.0F) return backward(k, tables, s.image(n));
      clear(k.dx, s.image(n));
      clear(k.dresidual, s.image(n));
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
  auto tables = [](const Images& s) { return tables_bytes(s, 3); };
  auto both = [](const Images& s) { return partial_sums_bytes(s) + tables_bytes(s, 3); };
  auto four = [](const Images& s) { return tables_bytes(s, 4); };
  return {{.op = "batch_norm_statistics",
           .bind = with(bind_statistics),
           .wishes = needs(partial_sums_bytes)},
          {.op = "batch_norm", .bind = with(bind_forward), .wishes = needs(tables)},
          {.op = "batch_norm_backward_statistics",
           .bind = with(bind_backward_statistics),
           .wishes = needs(both)},
          {.op = "batch_norm_parameter_gradients", .bind = bind_parameter_gradients},
          {.op = "batch_norm_backward", .bind = with(bind_backward), .wishes = needs(four)},
          {.op = "batch_norm_inference", .bind = with(bind_inference), .wishes = needs(tables)},
          {.op = "running_statistics", .bind = bind_running}};
}

}  // namespace lockstep::engine::cpu
