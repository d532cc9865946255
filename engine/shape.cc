#include "engine/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::engine {

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (std::int64_t extent : extents_) product *= extent;
  return product;
}

std::string Shape::text() const {
  return extents_.empty() ? "scalar" : fmt::format("{}", fmt::join(extents_, "x"));
}

}  // namespace lockstep::engine
