// Layer normalisation. Rows are worked on as floats, in at most kMostPieces pieces, each with sums
// of columns of its own, so that the bits do not depend on the number of threads.
#include <algorithm>

#include "engine/cpu/element_types.h"
#include "engine/cpu/families.h"
#include "engine/cpu/layer_norm_loops.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kMostPieces = 16;

struct Rows {
  std::int64_t count, columns;
  [[nodiscard]] std::int64_t a_piece() const { return (count + kMostPieces - 1) / kMostPieces; }
  [[nodiscard]] std::int64_t pieces() const { return (count + a_piece() - 1) / a_piece(); }
};

Rows rows_of(const Shape& x) {
  return {x[0], x[1]};
}

// Rows of scratch in a piece's part of the workspace.
enum ForwardScratch : std::int64_t { kForwardX, kForwardResidual, kForwardSum, kForwardRows };
enum BackwardScratch : std::int64_t {
  kGammaSum,
  kBetaSum,
  kBackwardX,
  kBackwardDy,
  kBackwardMore,
  kBackwardDx,
  kBackwardRows
};

std::size_t workspace_bytes(const Rows& rows, std::int64_t scratch_rows) {
  return static_cast<std::size_t>(rows.pieces() * scratch_rows * rows.columns) * sizeof(float);
}

// Calls work(piece, row, offset of the row's first element).
template <class Work>
void for_rows(int threads, const Rows& rows, const Work& work) {
  for_pieces(threads, rows.pieces(), [&](std::int64_t piece) {
    const std::int64_t end = std::min(rows.count, (piece + 1) * rows.a_piece());
    for (std::int64_t r = piece * rows.a_piece(); r < end; ++r) work(piece, r, r * rows.columns);
  });
}

Kernel bind_forward(const Context& context, const Binding& b) {
  const bool adds = b.node.inputs[1].valid();
  return
      [threads = context.threads, rows = rows_of(b.input(0).shape), x = StoredFloats::input(b, 0),
       residual = StoredFloats::input(b, 1), affine = Affine{b.in<float>(2), b.in<float>(3)},
       out = StoredFloats::output(b, 0), statistics = b.out<RowStatistics>(1),
       sum = adds ? StoredFloats::output(b, 2) : StoredFloats(),
       epsilon = static_cast<float>(b.node.attributes.real("epsilon")),
       scratch = reinterpret_cast<float*>(b.workspace)] {
        const std::int64_t columns = rows.columns;
        for_rows(threads, rows, [&](std::int64_t piece, std::int64_t r, std::int64_t at) {
          float* room = scratch + piece * kForwardRows * columns;
          const float* row = x.read(at, columns, room + kForwardX * columns);
          if (residual) {
            float* added = sum.place(at, room + kForwardSum * columns);
            add_rows(row, residual.read(at, columns, room + kForwardResidual * columns), added,
                     columns);
            sum.written(at, columns, added);
            // What is normalised is the sum as it is stored, since the backward pass has no other.
            row = sum.read(at, columns, room + kForwardSum * columns);
          }
          statistics[r] = statistics_of(row, columns, epsilon);
          float* normal = out.place(at, room + kForwardX * columns);
          normalise_row(row, statistics[r], affine, normal, columns);
          out.written(at, columns, normal);
        });
      };
}

Kernel bind_backward(const Context& context, const Binding& b) {
  return
      [threads = context.threads, rows = rows_of(b.input(0).shape), x = StoredFloats::input(b, 0),
       statistics = b.in<RowStatistics>(1), gamma = b.in<float>(2), dy = StoredFloats::input(b, 3),
       more = StoredFloats::input(b, 4), dx = StoredFloats::output(b, 0), dgamma = b.out<float>(1),
       dbeta = b.out<float>(2), scratch = reinterpret_cast<float*>(b.workspace)] {
        const std::int64_t columns = rows.columns, stride = kBackwardRows * columns;
        for (std::int64_t piece = 0; piece < rows.pieces(); ++piece) {
          std::fill_n(scratch + piece * stride + kGammaSum * columns, 2 * columns, 0.0F);
        }
        for_rows(threads, rows, [&](std::int64_t piece, std::int64_t r, std::int64_t at) {
          float* room = scratch + piece * stride;
          const BackwardRow row{
              .x = x.read(at, columns, room + kBackwardX * columns),
              .dy = dy.read(at, columns, room + kBackwardDy * columns),
              .gamma = gamma,
              .more = more ? more.read(at, columns, room + kBackwardMore * columns) : nullptr,
              .dx = dx.place(at, room + kBackwardDx * columns),
              .dgamma = room + kGammaSum * columns,
              .dbeta = room + kBetaSum * columns,
              .columns = columns};
          backward_row(row, statistics[r]);
          dx.written(at, columns, row.dx);
        });
        std::fill_n(dgamma, columns, 0.0F);
        std::fill_n(dbeta, columns, 0.0F);
        for (std::int64_t piece = 0; piece < rows.pieces(); ++piece) {
          const float* room = scratch + piece * stride;
          add_rows(dgamma, room + kGammaSum * columns, dgamma, columns);
          add_rows(dbeta, room + kBetaSum * columns, dbeta, columns);
        }
      };
}

}  // namespace

Family layer_norm_kernels(const Context& context) {
  auto needs = [](std::int64_t scratch_rows) {
    return [scratch_rows](const Graph& graph, const Node& node) {
      return OperandWishes{
          .workspace = workspace_bytes(rows_of(graph.value(node.inputs[0]).shape), scratch_rows)};
    };
  };
  return {{.op = "layer_norm",
           .bind = [context](const Binding& b) { return bind_forward(context, b); },
           .wishes = needs(kForwardRows)},
          {.op = "layer_norm_backward",
           .bind = [context](const Binding& b) { return bind_backward(context, b); },
           .wishes = needs(kBackwardRows)}};
}

}  // namespace lockstep::engine::cpu
