#include "engine/cpu/families.h"
#include "engine/cpu/onednn.h"

namespace lockstep::engine::cpu {
namespace {

dnnl::memory::desc desc_of(const onednn::Device& device, const Value& value) {
  if (value.layout.canonical()) return onednn::plain(value.shape.extents());
  return device.find(value.layout, value.name);
}

}  // namespace

Family reorder_kernels(const Context& context) {
  auto bind = [context](const Binding& binding) -> Kernel {
    const onednn::Device& device = *context.device;
    const auto from = device.memory(desc_of(device, binding.input(0)), binding.inputs[0]);
    const auto to = device.memory(desc_of(device, binding.output(0)), binding.outputs[0]);
    const std::string& name = binding.node.name;
    const dnnl::reorder reorder =
        onednn::call("reorder " + name, [&] { return dnnl::reorder(from, to); });
    return device.kernel(reorder, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, context.threads,
                         "reorder " + name);
  };
  return {{.op = "reorder", .bind = bind}};
}

}  // namespace lockstep::engine::cpu
