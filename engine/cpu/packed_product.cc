// b is packed in blocks that fill half of a second-level cache; strips of a pass by it, a group at
// a time, so that a panel in the first-level cache serves a whole group.
#include "engine/cpu/packed_product.h"

#include <algorithm>

#include "engine/cpu/product_panels.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {

#ifdef __x86_64__
namespace {

constexpr std::int64_t kBlockFloats = 262144;  // of b: 1 MiB
constexpr std::int64_t kGroupStrips = 4;       // 48 columns of a: three cache lines
constexpr std::int64_t kGroupRows = kGroupStrips * kTileRows;
constexpr std::int64_t kMostRowsSummed = 20 * kGroupRows;  // whose partial sums are kept apart

std::int64_t pieces_of(std::int64_t count, std::int64_t piece) {
  return (count + piece - 1) / piece;
}
// The smallest multiple of `step` that covers `count` in as few pieces as `most` allows.
std::int64_t even_piece(std::int64_t count, std::int64_t most, std::int64_t step) {
  return pieces_of(pieces_of(count, pieces_of(count, most)), step) * step;
}

constexpr std::int64_t kMostAhead = 512;  // columns: a pass of them fits in the cache

// How a product is cut.
struct Blocks {
  std::int64_t passed, columns, rows;
  std::int64_t parts;  // pieces of work for threads
  bool by_rows;        // what is shared out
  bool apart;          // partial sums cannot lie in y: its elements or its rows do not fit
};

Blocks blocks_of(const Context& context, const MatrixProduct& p) {
  Blocks b{};
  b.passed = even_piece(p.k, kMostPassed, 8);
  b.columns = even_piece(p.n, kBlockFloats / b.passed / kTileColumns * kTileColumns, kTileColumns);
  b.apart = b.passed < p.k && (p.y.type != DType::f32 || !p.y.dense(p.n));
  b.rows = b.apart ? std::min(kMostRowsSummed, p.m) : p.m;
  b.by_rows = p.m >= p.n;
  const std::int64_t shares = b.by_rows ? pieces_of(p.m, kGroupRows) : pieces_of(p.n, kTileColumns);
  b.parts = std::min<std::int64_t>(context.threads, shares);
  return b;
}

struct Scratch {
  float* panels;
  float* strips;
  float* sums;
};
std::int64_t panel_block_floats(const Blocks& b) {
  return b.columns / kTileColumns * panel_floats(b.passed);
}
std::int64_t scratch_floats(const Blocks& b) {
  return panel_block_floats(b) + kGroupStrips * kStripFloats + (b.apart ? b.rows * b.columns : 0);
}

class Part {
 public:
  Part(const MatrixProduct& product, const Blocks& blocks, const Scratch& scratch)
      : p_(product), blocks_(blocks), scratch_(scratch) {}

  void run(Extent rows, Extent columns) {
    for (std::int64_t c = 0; c < columns.count; c += blocks_.columns) {
      columns_ = {columns.begin + c, std::min(blocks_.columns, columns.count - c)};
      for (std::int64_t r = 0; r < rows.count; r += blocks_.rows) {
        const Extent some{rows.begin + r, std::min(blocks_.rows, rows.count - r)};
        for (std::int64_t k = 0; k < p_.k; k += blocks_.passed) {
          passed_ = {k, std::min(blocks_.passed, p_.k - k)};
          // Where one pass is all, the panels are still there.
          if (r == 0 || passed_.count < p_.k) {
            pack_panels(p_, columns_, passed_, scratch_.panels);
          }
          multiply_rows(some);
        }
      }
    }
  }

 private:
  // What the tiles of a group fetch while they multiply.
  struct Ahead {
    const std::byte* next = nullptr;
    std::int64_t step = 0;  // bytes, for each k of a tile
  };

  // What is packed after this group, where it is in one piece; else nothing. Operands that are
  // large for their products come at the memory's speed, and would else be waited for.
  [[nodiscard]] Ahead after_group(Extent rows, std::int64_t row) const {
    const Ahead nothing{reinterpret_cast<const std::byte*>(scratch_.strips), 0};
    const std::byte* next;
    std::int64_t bytes;
    if (p_.a_stored == Stored::as_is) {  // the next group of a
      const std::int64_t left = std::min(kGroupRows, rows.count - row - kGroupRows);
      if (left <= 0 || passed_.count < p_.k || !p_.a.dense(p_.k)) return nothing;
      next = p_.a.row(rows.begin + row + kGroupRows);
      bytes = left * p_.k * static_cast<std::int64_t>(size_of(p_.a.type));
    } else {  // this group's share of the next pass of the wider operand
      const RowMatrix& wider = p_.m > p_.n ? p_.a : p_.b;
      const std::int64_t width = std::max(p_.m, p_.n);
      const std::int64_t first = passed_.begin + passed_.count;
      const std::int64_t left = std::min(passed_.count, p_.k - first);
      if (left <= 0 || width > kMostAhead || !wider.dense(width)) return nothing;
      bytes = left * width * static_cast<std::int64_t>(size_of(wider.type)) /
              pieces_of(rows.count, kGroupRows);
      next = wider.row(first) + row / kGroupRows * bytes;
    }
    const std::int64_t tiles = pieces_of(columns_.count, kTileColumns) * kGroupStrips;
    return {next, pieces_of(bytes, tiles * passed_.count)};
  }

  void multiply_rows(Extent rows) {
    for (std::int64_t r = 0; r < rows.count; r += kGroupRows) {
      const Extent group{rows.begin + r, std::min(kGroupRows, rows.count - r)};
      pack_strips(p_, group, passed_, scratch_.strips);
      Ahead ahead = after_group(rows, r);
      for (std::int64_t c = 0; c < columns_.count; c += kTileColumns) {
        for (std::int64_t s = 0; s < group.count; s += kTileRows) {
          ProductTile t = tile(group, s, c, rows.begin);
          t.ahead = ahead.next;
          t.ahead_step = ahead.step;
          ahead.next += ahead.step * passed_.count;
          multiply_tile(p_, t);
        }
      }
    }
  }

  [[nodiscard]] ProductTile tile(Extent group, std::int64_t row, std::int64_t column,
                                 std::int64_t first_row) const {
    ProductTile t{.strip = scratch_.strips + row / kTileRows * kStripFloats,
                  .panel = scratch_.panels + column / kTileColumns * panel_floats(passed_.count),
                  .passed = passed_.count,
                  .rows = std::min(kTileRows, group.count - row),
                  .columns = std::min(kTileColumns, columns_.count - column),
                  .y_row = group.begin + row,
                  .y_column = columns_.begin + column};
    if (passed_.count == p_.k) return t;
    float* sums;
    if (blocks_.apart) {
      sums = scratch_.sums + (t.y_row - first_row) * blocks_.columns + column;
      t.sums_stride = blocks_.columns;
    } else {
      sums = reinterpret_cast<float*>(p_.y.row(t.y_row)) + t.y_column;
      t.sums_stride = p_.y.rows.stride;
    }
    if (passed_.begin > 0) t.before = sums;
    if (passed_.begin + passed_.count < p_.k) t.after = sums;
    return t;
  }

  const MatrixProduct& p_;
  const Blocks& blocks_;
  Scratch scratch_;
  Extent columns_{}, passed_{};
};

// The share of `part` in [0, count), in whole steps.
Extent share(std::int64_t count, std::int64_t step, std::int64_t part, std::int64_t parts) {
  const std::int64_t steps = pieces_of(count, step);
  const std::int64_t begin = part * steps / parts * step;
  return {begin, std::min(count, (part + 1) * steps / parts * step) - begin};
}

}  // namespace

std::size_t packed_product_workspace(const Context& context, const MatrixProduct& product) {
  const Blocks blocks = blocks_of(context, product);
  return static_cast<std::size_t>(blocks.parts * scratch_floats(blocks)) * sizeof(float);
}

Kernel packed_product(const Context& context, const MatrixProduct& product, std::byte* workspace) {
  return [product, blocks = blocks_of(context, product), threads = context.threads,
          memory = reinterpret_cast<float*>(workspace)] {
    for_pieces(threads, blocks.parts, [&](std::int64_t i) {
      float* own = memory + i * scratch_floats(blocks);
      float* strips = own + panel_block_floats(blocks);
      Part part(product, blocks,
                {.panels = own, .strips = strips, .sums = strips + kGroupStrips * kStripFloats});
      const Extent rows{0, product.m}, columns{0, product.n};
      part.run(blocks.by_rows ? share(product.m, kGroupRows, i, blocks.parts) : rows,
               blocks.by_rows ? columns : share(product.n, kTileColumns, i, blocks.parts));
    });
  };
}

#else

std::size_t packed_product_workspace(const Context&, const MatrixProduct&) {
  return 0;
}
Kernel packed_product(const Context&, const MatrixProduct&, std::byte*) {
  return {};
}

#endif

}  // namespace lockstep::engine::cpu
