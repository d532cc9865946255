#include "engine/cpu/attention_head.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/block_product.h"
#include "engine/cpu/dropout.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kBlock = kAttentionBlock;
constexpr std::int64_t kScores = kBlock * kBlock;

// Cuts scratch into parts.
class Scratch {
 public:
  explicit Scratch(float* begin) : at_(begin) {}
  float* take(std::int64_t floats) {
    float* part = at_;
    at_ += floats;
    return part;
  }

 private:
  float* at_;
};

struct Sizes {
  std::int64_t rows;     // of the context, up to whole blocks
  std::int64_t panel;    // a row a position
  std::int64_t block;    // a row a position of one block
  std::int64_t columns;  // a column a position of one block
  std::int64_t turned;   // those of all blocks
};
Sizes sizes_of(const HeadShape& s) {
  const std::int64_t rows = s.blocks() * kBlock;
  return {.rows = rows,
          .panel = rows * s.padded_width(),
          .block = kBlock * s.padded_width(),
          .columns = s.width * kBlock,
          .turned = s.blocks() * s.width * kBlock};
}

float score_scale(const HeadShape& s) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.width)));
}

// Positions of block `i`, up to whole tiles.
std::int64_t tile_rows(const HeadShape& s, std::int64_t i) {
  const std::int64_t left = std::min(kBlock, s.context - i * kBlock);
  return (left + kTileRows - 1) / kTileRows * kTileRows;
}

// The part of `rows` that block `i` has.
HeadRows block_of(HeadRows rows, std::int64_t i) {
  rows.first += i * kBlock * rows.stride;
  rows.rows = std::min(kBlock, rows.rows - i * kBlock);
  return rows;
}

// Keys of a block that the tile of queries from `row` on sees, with the diagonal or all of them.
std::int64_t keys_seen(bool diagonal, std::int64_t row) {
  return diagonal ? row + kTileRows : kBlock;
}
std::int64_t whole_tiles(std::int64_t columns) {
  return (columns + kTileColumns - 1) / kTileColumns * kTileColumns;
}

// A head's rows with a column a position: blocks of (width, kBlock).
void pack_turned(Isa isa, const HeadShape& s, const HeadRows& rows, float* room, float* to) {
  for (std::int64_t j = 0; j < s.blocks(); ++j) {
    pack_rows(block_of(rows, j), 1.0F, {room, kBlock, s.padded_width()});
    transpose_block(isa, {room, s.padded_width(), kBlock, s.width}, to + j * s.width * kBlock,
                    kBlock);
  }
}

// The group of random numbers of one query and the keys of block j.
DropGroup drop_group(const HeadDropout& dropout, const HeadShape& s, std::int64_t query,
                     std::int64_t j) {
  return {dropout.random, dropout.rule, dropout.first_group + query * s.blocks() + j};
}

}  // namespace

std::int64_t forward_scratch(const HeadShape& shape) {
  const Sizes z = sizes_of(shape);
  return 2 * z.panel + z.turned + 2 * z.block + kScores + 3 * kBlock;
}

void attend(Isa isa, const HeadShape& s, const HeadForward& head, float* memory) {
  const Sizes z = sizes_of(s);
  const std::int64_t padded = s.padded_width();
  Scratch scratch(memory);
  float *q = scratch.take(z.panel), *v = scratch.take(z.panel), *kt = scratch.take(z.turned);
  float *room = scratch.take(z.block), *out = scratch.take(z.block);
  float* scores = scratch.take(kScores);
  const RunningSoftmax softmax{scratch.take(kBlock), scratch.take(kBlock), scratch.take(kBlock)};
  pack_rows(head.q, score_scale(s), {q, z.rows, padded});
  pack_rows(head.v, 1.0F, {v, z.rows, padded});
  pack_turned(isa, s, head.k, room, kt);

  for (std::int64_t i = 0; i < s.blocks(); ++i) {
    const std::int64_t rows = tile_rows(s, i);
    std::fill_n(softmax.peak, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(softmax.sum, rows, 0.0F);
    for (std::int64_t j = 0; j <= i; ++j) {
      for (std::int64_t row = 0; row < rows; row += kTileRows) {
        const std::int64_t seen = keys_seen(i == j, row);
        float* tile = scores + row * kBlock;
        multiply(isa, {.a = q + (i * kBlock + row) * padded,
                       .a_row = padded,
                       .a_step = 1,
                       .b = kt + j * z.columns,
                       .b_row = kBlock,
                       .c = tile,
                       .c_row = kBlock,
                       .rows = kTileRows,
                       .columns = whole_tiles(seen),
                       .depth = s.width,
                       .into = Into::fresh});
        const RunningSoftmax part{softmax.peak + row, softmax.sum + row, softmax.rescale + row};
        softmax_rows(isa, {tile, kTileRows, i == j ? row + 1 : kBlock}, part);
        if (head.dropout) {
          for (std::int64_t r = 0; r < kTileRows; ++r) {
            float factors[kBlock];
            drop_factors(isa, drop_group(*head.dropout, s, i * kBlock + row + r, j), factors);
            for (std::int64_t c = 0; c < kBlock; ++c) tile[r * kBlock + c] *= factors[c];
          }
        }
        float* sums = out + row * padded;
        if (j > 0) scale_rows(sums, part.rescale, kTileRows, padded);
        multiply(isa, {.a = tile,
                       .a_row = kBlock,
                       .a_step = 1,
                       .b = v + j * z.block,
                       .b_row = padded,
                       .c = sums,
                       .c_row = padded,
                       .rows = kTileRows,
                       .columns = padded,
                       .depth = seen,
                       .into = j > 0 ? Into::added : Into::fresh});
      }
    }
    const HeadRows to = block_of(head.out, i);
    for (std::int64_t r = 0; r < to.rows; ++r) {
      head.lse[i * kBlock + r] = softmax.peak[r] + std::log(softmax.sum[r]);
      softmax.rescale[r] = 1.0F / softmax.sum[r];
    }
    scale_rows(out, softmax.rescale, to.rows, padded);
    unpack_rows({out, kBlock, padded}, 1.0F, to);
  }
}

std::int64_t backward_scratch(const HeadShape& shape) {
  const Sizes z = sizes_of(shape);
  return 4 * z.panel + 2 * z.turned + 3 * z.block + 2 * kScores + 2 * z.rows;
}

void attend_backward(Isa isa, const HeadShape& s, const HeadBackward& head, float* memory) {
  const Sizes z = sizes_of(s);
  const std::int64_t padded = s.padded_width();
  Scratch scratch(memory);
  float *q = scratch.take(z.panel), *k = scratch.take(z.panel), *dout = scratch.take(z.panel);
  float *dq = scratch.take(z.panel), *kt = scratch.take(z.turned), *vt = scratch.take(z.turned);
  float *room = scratch.take(z.block), *dk = scratch.take(z.block), *dv = scratch.take(z.block);
  float *scores = scratch.take(kScores), *gradients = scratch.take(kScores);
  float *lse = scratch.take(z.rows), *delta = scratch.take(z.rows);
  pack_rows(head.q, score_scale(s), {q, z.rows, padded});
  pack_rows(head.k, 1.0F, {k, z.rows, padded});
  pack_rows(head.dout, 1.0F, {dout, z.rows, padded});
  pack_turned(isa, s, head.k, room, kt);
  pack_turned(isa, s, head.v, room, vt);
  // Positions beyond the context have zeros for all that is multiplied by their probabilities.
  std::copy_n(head.lse, s.context, lse);
  std::fill(lse + s.context, lse + z.rows, 0.0F);
  for (std::int64_t i = 0; i < s.blocks(); ++i) {
    pack_rows(block_of(head.out, i), 1.0F, {room, kBlock, padded});
    row_dots({dout + i * z.block, kBlock, padded}, room, kBlock, delta + i * kBlock);
  }

  for (std::int64_t j = 0; j < s.blocks(); ++j) {
    const std::int64_t keys = tile_rows(s, j);
    for (std::int64_t i = j; i < s.blocks(); ++i) {
      const std::int64_t rows = tile_rows(s, i);
      const bool diagonal = i == j;
      for (std::int64_t row = 0; row < rows; row += kTileRows) {
        const std::int64_t query = i * kBlock + row, seen = keys_seen(diagonal, row);
        float *score_tile = scores + row * kBlock, *gradient_tile = gradients + row * kBlock;
        BlockProduct product{.a = q + query * padded,
                             .a_row = padded,
                             .a_step = 1,
                             .b = kt + j * z.columns,
                             .b_row = kBlock,
                             .c = score_tile,
                             .c_row = kBlock,
                             .rows = kTileRows,
                             .columns = whole_tiles(seen),
                             .depth = s.width,
                             .into = Into::fresh};
        multiply(isa, product);
        product.a = dout + query * padded;
        product.b = vt + j * z.columns;
        product.c = gradient_tile;
        multiply(isa, product);
        for (std::int64_t r = 0; r < kTileRows; ++r) {
          float factors[kBlock];
          if (head.dropout) drop_factors(isa, drop_group(*head.dropout, s, query + r, j), factors);
          gradient_row({.scores = score_tile + r * kBlock,
                        .gradients = gradient_tile + r * kBlock,
                        .factors = head.dropout ? factors : nullptr,
                        .lse = lse[query + r],
                        .delta = delta[query + r],
                        .seen = diagonal ? row + r + 1 : kBlock,
                        .columns = whole_tiles(seen)});
        }
        multiply(isa, {.a = gradient_tile,
                       .a_row = kBlock,
                       .a_step = 1,
                       .b = k + j * z.block,
                       .b_row = padded,
                       .c = dq + query * padded,
                       .c_row = padded,
                       .rows = kTileRows,
                       .columns = padded,
                       .depth = seen,
                       .into = j > 0 ? Into::added : Into::fresh});
      }
      // A tile of keys is seen by the queries from its own first position on.
      for (std::int64_t key = 0; key < keys; key += kTileRows) {
        const std::int64_t first = diagonal ? key : 0;
        BlockProduct product{.a = scores + first * kBlock + key,
                             .a_row = 1,
                             .a_step = kBlock,
                             .b = dout + (i * kBlock + first) * padded,
                             .b_row = padded,
                             .c = dv + key * padded,
                             .c_row = padded,
                             .rows = kTileRows,
                             .columns = padded,
                             .depth = rows - first,
                             .into = diagonal ? Into::fresh : Into::added};
        multiply(isa, product);
        product.a = gradients + first * kBlock + key;
        product.b = q + (i * kBlock + first) * padded;
        product.c = dk + key * padded;
        multiply(isa, product);
      }
    }
    unpack_rows({dk, kBlock, padded}, 1.0F, block_of(head.dk, j));
    unpack_rows({dv, kBlock, padded}, 1.0F, block_of(head.dv, j));
  }
  unpack_rows({dq, z.rows, padded}, score_scale(s), head.dq);
}

}  // namespace lockstep::engine::cpu
