#include <fmt/format.h>

#include "engine/cpu/families.h"
#include "engine/cpu/onednn.h"
#include "engine/error.h"

namespace lockstep::engine::cpu {

Isa best_isa() {
#ifdef __x86_64__
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide ? Isa::avx512 : Isa::portable;
#else
  return Isa::portable;
#endif
}

KernelTable kernels(int threads, Isa isa) {
  if (threads < 1) throw Error(fmt::format("kernels need at least 1 thread, not {}", threads));
  if (isa == Isa::avx512 && best_isa() != Isa::avx512) {
    throw Error("AVX-512 kernels were asked for on a machine without AVX-512");
  }
  const Context context{
      .threads = threads, .isa = isa, .device = std::make_shared<onednn::Device>()};
  KernelTable table;
  for (auto family :
       {convolution_kernels, linear_kernels, elementwise_kernels, pool_kernels, flatten_kernels,
        batch_norm_kernels, embedding_kernels, layer_norm_kernels, gelu_kernels, attention_kernels,
        dropout_kernels, loss_kernels, state_kernels, optimizer_kernels, reorder_kernels}) {
    for (KernelDefinition& definition : family(context)) table.add(std::move(definition));
  }
  return table;
}

}  // namespace lockstep::engine::cpu
