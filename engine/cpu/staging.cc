#include "engine/cpu/staging.h"

#include <utility>

#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {

std::byte* WorkspaceParts::take(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  std::byte* part = workspace_ ? workspace_ + taken_ : nullptr;
  taken_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return part;
}

void Staging::Move::run(int threads) const {
  if (from.dense(columns) && to.dense(columns)) {
    return convert(threads, {from.data, from.type}, {to.data, to.type}, rows * columns);
  }
  constexpr std::int64_t kRows = 64;
  for_ranges(threads, rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      convert(1, {from.row(r), from.type}, {to.row(r), to.type}, columns);
    }
  });
}

std::byte* Staging::read(const StoredArray& operand, std::int64_t count) {
  return read(dense_rows(operand, count), 1, count);
}

std::byte* Staging::written(const StoredArray& operand, std::int64_t count) {
  return written(dense_rows(operand, count), 1, count);
}

std::byte* Staging::read(const RowMatrix& operand, std::int64_t rows, std::int64_t columns) {
  if (operand.type == computed_ && operand.dense(columns)) return operand.data;
  std::byte* staged = parts_.take(static_cast<std::size_t>(rows * columns) * size_of(computed_));
  before_.push_back({operand, dense_rows({staged, computed_}, columns), rows, columns});
  return staged;
}

std::byte* Staging::written(const RowMatrix& operand, std::int64_t rows, std::int64_t columns) {
  const DType type = written_type(computed_, operand.type);
  if (operand.type == type && operand.dense(columns)) return operand.data;
  std::byte* staged = parts_.take(static_cast<std::size_t>(rows * columns) * size_of(type));
  after_.push_back({dense_rows({staged, type}, columns), operand, rows, columns});
  return staged;
}

Kernel Staging::around(int threads, Kernel primitive) && {
  if (before_.empty() && after_.empty()) return primitive;
  return [threads, primitive = std::move(primitive), before = std::move(before_),
          after = std::move(after_)] {
    for (const Move& move : before) move.run(threads);
    primitive();
    for (const Move& move : after) move.run(threads);
  };
}

}  // namespace lockstep::engine::cpu
