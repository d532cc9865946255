// The loops of batch normalisation over some pixels of an image. Channels are innermost. Each reads
// and writes its operands row by row, as they lie: what it costs is their bytes.
//
// Tables of a value a channel are padded to whole vectors (in_vectors); `first` is the index of the
// first element.
#pragma once

#include <cstdint>

#include "engine/cpu/stored.h"

namespace lockstep::engine::cpu {

struct Pixels {
  std::int64_t first, count, channels;
};

// Two sums a channel.
struct Sums {
  double* first;
  double* second;
};

// Adds x to `sums`, and its squares.
void add_squares(const StoredInput& x, const Pixels& pixels, const Sums& sums);

// What a channel's normalisation needs: y = (x - mean) * scale + shift.
struct Tables {
  float* mean;
  float* scale;
  float* shift;
};

struct Normalisation {
  StoredInput x;
  StoredInput residual;  // may be absent
  StoredOutput y;
  bool relu;
};

void normalise(const Normalisation& normalisation, const Tables& tables, const Pixels& pixels);

struct BackwardSums {
  StoredInput x;
  StoredInput dy;
  StoredInput y;  // absent without relu
  const float* mean;
  const float* inverse;  // 1 / standard deviation
};

// Adds to `sums`: dy behind the relu, then that times the normalised x.
void add_gradients(const BackwardSums& k, const Pixels& pixels, const Sums& sums);

// dx = scale * (dy - mean_dy - (x - mean) * slope), where slope is the mean of dy times normalised
// x, over the standard deviation.
struct BackwardTables {
  float* mean;
  float* scale;
  float* mean_dy;
  float* slope;
};

struct BackwardImages {
  StoredInput x;
  StoredInput dy;
  StoredInput y;  // absent without relu
  StoredOutput dx;
  StoredOutput dresidual;  // may be absent
};

void backward(const BackwardImages& k, const BackwardTables& tables, const Pixels& pixels);

}  // namespace lockstep::engine::cpu
