#include <fmt/format.h>

#include <cmath>

#include "engine/error.h"
#include "engine/models/models.h"

namespace lockstep::engine::models {
namespace {

constexpr double kDeviation = 0.02;

ValueId block(ModelBuilder& b, const Gpt2& o, std::int64_t context, std::int64_t layer, ValueId x) {
  const std::string name = fmt::format("transformer.h.{}", layer);
  const double residual = kDeviation / std::sqrt(2.0 * static_cast<double>(o.layers));
  ValueId y = b.layer_norm(name + ".ln_1", x);
  y = b.projection(name + ".attn.c_attn", y, 3 * o.width, kDeviation);
  y = b.attention(name + ".attn", y, {.heads = o.heads, .context = context, .dropout = o.dropout});
  y = b.projection(name + ".attn.c_proj", y, o.width, residual);
  x = b.add(name + ".attn.add", x, b.dropout(name + ".attn.drop", y, o.dropout));
  y = b.layer_norm(name + ".ln_2", x);
  y = b.projection(name + ".mlp.c_fc", y, 4 * o.width, kDeviation);
  y = b.gelu(name + ".mlp.gelu", y, ModelBuilder::Gelu::tanh);
  y = b.projection(name + ".mlp.c_proj", y, o.width, residual);
  return b.add(name + ".mlp.add", x, b.dropout(name + ".mlp.drop", y, o.dropout));
}

}  // namespace

ModelFunction gpt2(Gpt2 options) {
  if (options.heads < 1 || options.width % options.heads != 0) {
    throw Error(
        fmt::format("gpt2: width {} is not a multiple of heads {}", options.width, options.heads));
  }
  return [options](ModelBuilder& b, ValueId tokens) {
    const std::int64_t context = b.shape(tokens)[1];
    if (context > options.context) {
      throw Error(fmt::format("gpt2: windows of {} tokens, but the model's context is {}", context,
                              options.context));
    }
    auto [x, table] = b.embedding("transformer.embedding", tokens,
                                  {.token_table = "transformer.wte",
                                   .position_table = "transformer.wpe",
                                   .vocabulary = options.vocabulary,
                                   .positions = options.context,
                                   .width = options.width,
                                   .deviation = kDeviation});
    x = b.dropout("transformer.drop", x, options.dropout);
    for (std::int64_t layer = 0; layer < options.layers; ++layer) {
      b.begin_block();
      x = block(b, options, context, layer, x);
    }
    b.end_blocks();
    return b.tied_linear("lm_head", b.layer_norm("transformer.ln_f", x), table);
  };
}

}  // namespace lockstep::engine::models
