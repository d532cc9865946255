// Batch normalisation. Samples whose weight is not 1 are padding: they are left out of every sum
// and have no gradient. Statistics are double; the rest is float.
#include <algorithm>
#include <cmath>

#include "engine/cpu/families.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

struct Images {
  std::int64_t count, pixels, channels;
  [[nodiscard]] std::int64_t elements() const { return pixels * channels; }
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
  return static_cast<std::size_t>(pieces_of(images) * 2 * images.channels) * sizeof(double);
}

constexpr std::int64_t kBlock = 16;  // channels whose sums stay in registers

LOCKSTEP_MULTIVERSION void add_squares(const float* x, const Images& s, std::int64_t block,
                                       double* sum, double* square) {
  const std::int64_t width = std::min(kBlock, s.channels - block);
  double a[kBlock] = {}, q[kBlock] = {};
  x += block;
  if (width == kBlock) {
    for (std::int64_t p = 0; p < s.pixels; ++p) {
      for (std::int64_t c = 0; c < kBlock; ++c) {
        const double v = static_cast<double>(x[p * s.channels + c]);
        a[c] += v;
        q[c] += v * v;
      }
    }
  } else {
    for (std::int64_t p = 0; p < s.pixels; ++p) {
      for (std::int64_t c = 0; c < width; ++c) {
        const double v = static_cast<double>(x[p * s.channels + c]);
        a[c] += v;
        q[c] += v * v;
      }
    }
  }
  for (std::int64_t c = 0; c < width; ++c) sum[block + c] += a[c], square[block + c] += q[c];
}

// What a channel's normalisation needs: y = (x - mean) * scale + shift.
struct Tables {
  float* mean;
  float* scale;
  float* shift;
};
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

LOCKSTEP_MULTIVERSION void normalise_image(const Images& s, const Tables& t, const float* x,
                                           const float* residual, float* y) {
  for (std::int64_t p = 0; p < s.pixels; ++p) {
    const std::int64_t at = p * s.channels;
    if (residual) {
      for (std::int64_t c = 0; c < s.channels; ++c) {
        y[at + c] = (x[at + c] - t.mean[c]) * t.scale[c] + t.shift[c] + residual[at + c];
      }
    } else {
      for (std::int64_t c = 0; c < s.channels; ++c) {
        y[at + c] = (x[at + c] - t.mean[c]) * t.scale[c] + t.shift[c];
      }
    }
  }
}

LOCKSTEP_MULTIVERSION void relu_in_place(float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = 0.0F > y[i] ? 0.0F : y[i];
}

Kernel bind_statistics(const Context& context, const Binding& b) {
  return [context, s = images_of(b.input(0).shape), x = b.in<float>(0), weights = b.in<float>(1),
          out = b.out<double>(0), partial = reinterpret_cast<double*>(b.workspace)] {
    const std::int64_t each = images_a_piece(s), pieces = pieces_of(s), words = 2 * s.channels;
    for_pieces(context.threads, pieces, [&](std::int64_t piece) {
      double* sums = partial + piece * words;
      std::fill(sums, sums + words, 0.0);
      for (std::int64_t n = piece * each; n < std::min(s.count, (piece + 1) * each); ++n) {
        if (weights[n] != 1.0F) continue;
        for (std::int64_t c = 0; c < s.channels; c += kBlock) {
          add_squares(x + n * s.elements(), s, c, sums, sums + s.channels);
        }
      }
    });
    std::fill(out, out + words, 0.0);
    for (std::int64_t i = 0; i < pieces * words; ++i) out[i % words] += partial[i];
    const auto samples = std::count(weights, weights + s.count, 1.0F);
    out[words] = static_cast<double>(samples * s.pixels);
  };
}

struct Normalisation {
  Images images;
  const float* x;
  const float* residual;  // may be absent
  float* y;
  bool relu;
};

void normalise(const Context& context, const Normalisation& n, const Tables& tables) {
  for_pieces(context.threads, n.images.count, [&](std::int64_t i) {
    const std::int64_t at = i * n.images.elements();
    normalise_image(n.images, tables, n.x + at, n.residual ? n.residual + at : nullptr, n.y + at);
    if (n.relu) relu_in_place(n.y + at, n.images.elements());
  });
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

struct BackwardSums {
  Images images;
  const float* mean;
  const float* inverse;  // 1 / standard deviation
  bool relu;
};

LOCKSTEP_MULTIVERSION void add_gradients(const BackwardSums& k, const float* x, const float* dy,
                                         const float* y, double* sums) {
  const std::int64_t channels = k.images.channels;
  for (std::int64_t block = 0; block < channels; block += kBlock) {
    const std::int64_t width = std::min(kBlock, channels - block);
    double a[kBlock] = {}, q[kBlock] = {};
    for (std::int64_t p = 0; p < k.images.pixels; ++p) {
      const std::int64_t at = p * channels + block;
      for (std::int64_t c = 0; c < width; ++c) {
        const float d = k.relu && !(y[at + c] > 0.0F) ? 0.0F : dy[at + c];
        const float normal = (x[at + c] - k.mean[block + c]) * k.inverse[block + c];
        a[c] += static_cast<double>(d);
        q[c] += static_cast<double>(d) * static_cast<double>(normal);
      }
    }
    for (std::int64_t c = 0; c < width; ++c) {
      sums[block + c] += a[c];
      sums[channels + block + c] += q[c];
    }
  }
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
    const std::int64_t each = images_a_piece(s), pieces = pieces_of(s), words = 2 * s.channels;
    for_pieces(context.threads, pieces, [&](std::int64_t piece) {
      double* sums = partial + piece * words;
      std::fill(sums, sums + words, 0.0);
      for (std::int64_t n = piece * each; n < std::min(s.count, (piece + 1) * each); ++n) {
        if (weights[n] != 1.0F) continue;
        const std::int64_t at = n * s.elements();
        add_gradients(k, x + at, dy + at, y + at, sums);
      }
    });
    std::fill(out, out + words, 0.0);
    for (std::int64_t i = 0; i < pieces * words; ++i) out[i % words] += partial[i];
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

// dx = scale * (dy - mean_dy - (x - mean) * slope), where slope is the mean of dy times normalised
// x, over the standard deviation.
struct BackwardTables {
  float* mean;
  float* scale;
  float* mean_dy;
  float* slope;
};

LOCKSTEP_MULTIVERSION void backward_image(const Images& s, const BackwardTables& t, bool relu,
                                          const float* x, const float* dy, const float* y,
                                          float* dx) {
  for (std::int64_t p = 0; p < s.pixels; ++p) {
    const std::int64_t at = p * s.channels;
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const float d = relu && !(y[at + c] > 0.0F) ? 0.0F : dy[at + c];
      dx[at + c] = t.scale[c] * (d - t.mean_dy[c] - (x[at + c] - t.mean[c]) * t.slope[c]);
    }
  }
}

LOCKSTEP_MULTIVERSION void residual_image(std::int64_t count, bool relu, const float* dy,
                                          const float* y, float* dresidual) {
  for (std::int64_t i = 0; i < count; ++i) {
    dresidual[i] = relu && !(y[i] > 0.0F) ? 0.0F : dy[i];
  }
}

Kernel bind_backward(const Context& context, const Binding& b) {
  const Images s = images_of(b.input(0).shape);
  float* begin = reinterpret_cast<float*>(b.workspace);
  const BackwardTables tables{begin, begin + s.channels, begin + 2 * s.channels,
                              begin + 3 * s.channels};
  return
      [context, s, tables, x = b.in<float>(0), statistics = b.in<double>(1), gamma = b.in<float>(2),
       sums = b.in<double>(3), dy = b.in<float>(4), y = b.in<float>(5), weights = b.in<float>(6),
       dx = b.out<float>(0), dresidual = b.outputs.size() > 1 ? b.out<float>(1) : nullptr,
       epsilon = b.node.attributes.real("epsilon"),
       relu = b.node.attributes.integer_or("relu", 0) != 0] {
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
          const std::int64_t at = n * s.elements();
          if (weights[n] != 1.0F) {
            std::fill(dx + at, dx + at + s.elements(), 0.0F);
            if (dresidual) std::fill(dresidual + at, dresidual + at + s.elements(), 0.0F);
            return;
          }
          backward_image(s, tables, relu, x + at, dy + at, y + at, dx + at);
          if (dresidual) residual_image(s.elements(), relu, dy + at, y + at, dresidual + at);
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
