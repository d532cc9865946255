// The loops of batch normalisation over one image. Channels are innermost.
#pragma once

#include <cstdint>

namespace lockstep::engine::cpu {

struct Images {
  std::int64_t count, pixels, channels;
  [[nodiscard]] std::int64_t elements() const { return pixels * channels; }
};

// Adds the image at `x` to `sums`: a sum a channel, then a sum of squares a channel.
void add_squares(const float* x, const Images& images, double* sums);

// What a channel's normalisation needs: y = (x - mean) * scale + shift.
struct Tables {
  float* mean;
  float* scale;
  float* shift;
};

struct Normalisation {
  Images images;
  const float* x;
  const float* residual;  // may be absent
  float* y;
  bool relu;
};

// The image that begins `at` elements from the first.
void normalise_image(const Normalisation& normalisation, const Tables& tables, std::int64_t at);

struct BackwardSums {
  Images images;
  const float* mean;
  const float* inverse;  // 1 / standard deviation
  bool relu;
};

// One image's pixels.
struct BackwardPixels {
  const float* x;
  const float* dy;
  const float* y;
};

// Adds to `sums`: dy behind the relu, then that times the normalised x.
void add_gradients(const BackwardSums& k, const BackwardPixels& pixels, double* sums);

// dx = scale * (dy - mean_dy - (x - mean) * slope), where slope is the mean of dy times normalised
// x, over the standard deviation.
struct BackwardTables {
  float* mean;
  float* scale;
  float* mean_dy;
  float* slope;
};

struct BackwardImages {
  Images images;
  const float* x;
  const float* dy;
  const float* y;
  float* dx;
  float* dresidual;  // may be absent
  bool relu;
};

// The image that begins `at` elements from the first.
void backward_image(const BackwardImages& k, const BackwardTables& tables, std::int64_t at);

}  // namespace lockstep::engine::cpu
