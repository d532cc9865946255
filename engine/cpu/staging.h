// Operands that a library's primitive takes in another type than the one they are stored in, or
// dense where they are not: what workspace they need, and the conversions around the primitive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/cpu/convert.h"
#include "engine/cpu/row_matrix.h"
#include "engine/kernel.h"

namespace lockstep::engine::cpu {

// Hands out parts of a workspace; without one it only counts.
class WorkspaceParts {
 public:
  explicit WorkspaceParts(std::byte* workspace) : workspace_(workspace) {}
  [[nodiscard]] std::byte* take(std::size_t bytes);
  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  std::byte* workspace_;
  std::size_t taken_ = 0;
};

// The type in which a primitive that multiplies in `computed` writes what is stored as `stored`:
// its sums are f32, and one that multiplies in bf16 rounds them where that is asked for.
[[nodiscard]] constexpr DType written_type(DType computed, DType stored) {
  return computed == DType::bf16 ? stored : DType::f32;
}

class Staging {
 public:
  // `computed`: the type in which the primitive multiplies.
  Staging(DType computed, WorkspaceParts& parts) : computed_(computed), parts_(parts) {}

  // Where the primitive reads the `count` elements stored at `operand`, or writes them.
  [[nodiscard]] std::byte* read(const StoredArray& operand, std::int64_t count);
  [[nodiscard]] std::byte* written(const StoredArray& operand, std::int64_t count);
  // The same of matrices.
  [[nodiscard]] std::byte* read(const RowMatrix& operand, std::int64_t rows, std::int64_t columns);
  [[nodiscard]] std::byte* written(const RowMatrix& operand, std::int64_t rows,
                                   std::int64_t columns);

  // `primitive` with the conversions before and after it.
  [[nodiscard]] Kernel around(int threads, Kernel primitive) &&;

 private:
  struct Move {
    RowMatrix from, to;
    std::int64_t rows, columns;
    void run(int threads) const;
  };
  DType computed_;
  WorkspaceParts& parts_;
  std::vector<Move> before_, after_;
};

}  // namespace lockstep::engine::cpu
