// The kernels by family, a family a file; kernels() collects them.
#pragma once

#include <memory>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/kernel.h"

namespace lockstep::engine::cpu {

namespace onednn {
class Device;
}

// What kernels share. It lives as long as any of them.
struct Context {
  int threads = 1;
  Isa isa = Isa::portable;
  LowProducts low_products = LowProducts::fp32;
  std::shared_ptr<onednn::Device> device;
};

using Family = std::vector<KernelDefinition>;
Family convolution_kernels(const Context& context);
Family linear_kernels(const Context& context);
Family elementwise_kernels(const Context& context);
Family pool_kernels(const Context& context);
Family flatten_kernels(const Context& context);
Family batch_norm_kernels(const Context& context);
Family embedding_kernels(const Context& context);
Family layer_norm_kernels(const Context& context);
Family gelu_kernels(const Context& context);
Family attention_kernels(const Context& context);
Family dropout_kernels(const Context& context);
Family loss_kernels(const Context& context);
Family state_kernels(const Context& context);
Family optimizer_kernels(const Context& context);
Family reorder_kernels(const Context& context);

}  // namespace lockstep::engine::cpu
