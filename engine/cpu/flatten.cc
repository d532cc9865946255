#include <cstring>

#include "engine/cpu/families.h"
#include "engine/cpu/threads.h"
#include "engine/cpu/transpose.h"

namespace lockstep::engine::cpu {
namespace {

// Each of `images` matrices of `rows` by `columns` transposed.
Kernel transposes(const Context& context, const Binding& b, const Shape& image, bool to_planes) {
  const std::int64_t pixels = image[1] * image[2], channels = image[3];
  const std::int64_t rows = to_planes ? pixels : channels;
  const std::int64_t columns = to_planes ? channels : pixels;
  return [context, x = b.in<float>(0), y = b.out<float>(0), images = image[0], rows, columns] {
    for_pieces(context.threads, images, [&](std::int64_t i) {
      const std::int64_t at = i * rows * columns;
      if (rows == 1 || columns == 1) {
        std::memcpy(y + at, x + at, static_cast<std::size_t>(rows * columns) * sizeof(float));
      } else {
        transpose(context.isa, x + at, y + at, rows, columns);
      }
    });
  };
}

}  // namespace

Family flatten_kernels(const Context& context) {
  auto flatten = [context](const Binding& b) {
    return transposes(context, b, b.input(0).shape, true);
  };
  auto unflatten = [context](const Binding& b) {
    return transposes(context, b, b.output(0).shape, false);
  };
  return {{.op = "flatten", .bind = flatten}, {.op = "unflatten", .bind = unflatten}};
}

}  // namespace lockstep::engine::cpu
