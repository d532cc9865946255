#include "engine/cpu/product_onednn.h"

#include <utility>

#include "engine/bfloat16.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/onednn.h"
#include "engine/cpu/staging.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

// oneDNN's own relu turns a NaN into 0, which would hide it from the loss.
LOCKSTEP_MULTIVERSION void relu_in_place(float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = 0.0F > y[i] ? 0.0F : y[i];
}
LOCKSTEP_MULTIVERSION void relu_in_place(BFloat16* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (to_float(y[i]) < 0.0F) y[i] = BFloat16{};
  }
}

dnnl::memory::desc matrix(DType type, Stored stored, std::int64_t rows, std::int64_t columns) {
  using dnnl::memory;
  return {{rows, columns},
          onednn::type_of(type),
          stored == Stored::as_is ? memory::dims{columns, 1} : memory::dims{1, rows}};
}

bool has_derived_weight(const LibraryProduct& p) {
  return p.b_is == LibraryProduct::B::weight && p.type == DType::bf16;
}

onednn::Product descriptors(const LibraryProduct& p) {
  const MatrixProduct& m = p.matrices;
  dnnl::memory::desc b = matrix(p.type, m.b_stored, m.k, m.n);
  if (has_derived_weight(p)) {
    b = {{m.k, m.n}, onednn::type_of(p.type), dnnl::memory::format_tag::any};
  }
  return {.a = matrix(p.type, m.a_stored, m.m, m.k),
          .b = b,
          .bias = p.bias == Bias::present ? onednn::plain({1, m.n}) : dnnl::memory::desc(),
          .y = matrix(written_type(p.type, m.y.type), Stored::as_is, m.m, m.n)};
}

// Where operands lie once conversions are taken into account.
struct Places {
  std::byte *scratchpad, *a, *b, *y;
};

Places places(const LibraryProduct& p, std::size_t scratchpad, WorkspaceParts& parts,
              Staging& staging) {
  const MatrixProduct& m = p.matrices;
  Places at{};
  at.scratchpad = parts.take(scratchpad);
  at.a = m.a_stored == Stored::as_is ? staging.read(m.a, m.m, m.k) : staging.read(m.a, m.k, m.m);
  at.b = p.b_is == LibraryProduct::B::weight ? m.b.data : staging.read(m.b, m.k, m.n);
  at.y = staging.written(m.y, m.m, m.n);
  return at;
}

Kernel with_relu(Kernel multiply, const MatrixProduct& m, int threads) {
  return [multiply = std::move(multiply), y = m.y, count = m.m * m.n, threads] {
    multiply();
    for_ranges(threads, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
      if (y.type == DType::bf16) {
        relu_in_place(reinterpret_cast<BFloat16*>(y.data) + begin, end - begin);
      } else {
        relu_in_place(reinterpret_cast<float*>(y.data) + begin, end - begin);
      }
    });
  };
}

}  // namespace

ProductWishes library_product_wishes(const Context& context, const LibraryProduct& product) {
  use_threads(context.threads);
  return onednn::call("matrix product", [&] {
    onednn::Device& device = *context.device;
    const auto desc = onednn::product(device.engine(), descriptors(product));
    WorkspaceParts parts(nullptr);
    Staging staging(product.type, parts);
    places(product, desc.scratchpad_desc().get_size(), parts, staging);
    ProductWishes wishes{.workspace = parts.taken()};
    if (has_derived_weight(product)) {
      const auto weight = desc.weights_desc();  // as [k, n]
      wishes.weight = device.layout(
          product.matrices.b_stored == Stored::as_is ? weight : weight.permute_axes({1, 0}));
    }
    return wishes;
  });
}

Kernel library_product(const Context& context, const LibraryProduct& product, std::byte* workspace,
                       const std::string& name) {
  const onednn::Device& device = *context.device;
  use_threads(context.threads);
  return onednn::call("matrix product of " + name, [&] {
    const onednn::Product descs = descriptors(product);
    const auto desc = onednn::product(device.engine(), descs);
    WorkspaceParts parts(workspace);
    Staging staging(product.type, parts);
    const Places at = places(product, desc.scratchpad_desc().get_size(), parts, staging);
    onednn::Arguments arguments{
        {DNNL_ARG_SRC, device.memory(descs.a, at.a)},
        {DNNL_ARG_WEIGHTS, device.memory(desc.weights_desc(), at.b)},
        {DNNL_ARG_DST, device.memory(descs.y, at.y)},
        {DNNL_ARG_SCRATCHPAD, device.memory(desc.scratchpad_desc(), at.scratchpad)}};
    if (product.bias == Bias::present) {
      arguments.emplace(DNNL_ARG_BIAS, device.memory(descs.bias, product.matrices.bias));
    }
    Kernel multiply = std::move(staging).around(
        context.threads, device.kernel(dnnl::matmul(desc), std::move(arguments), context.threads,
                                       "matrix product of " + name));
    if (product.matrices.activation == Activation::none) return multiply;
    return with_relu(std::move(multiply), product.matrices, context.threads);
  });
}

}  // namespace lockstep::engine::cpu
