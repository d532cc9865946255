#include "engine/cpu/families.h"
#include "engine/cpu/onednn.h"

namespace lockstep::engine::cpu {
namespace {

// The canonical side has the extents of the other one, whatever its rank: the weight of a 1x1
// convolution is laid out as a matrix.
dnnl::memory::desc desc_of(const onednn::Device& device, const Value& value, const Value& other) {
  if (!value.layout.canonical()) return device.find(value.layout, value.name);
  const auto extents = other.layout.canonical()
                           ? value.shape.extents()
                           : onednn::extents_of(device.find(other.layout, other.name));
  return onednn::plain(extents, value.dtype);
}

}  // namespace

Family reorder_kernels(const Context& context) {
  auto bind = [context](const Binding& binding) -> Kernel {
    const onednn::Device& device = *context.device;
    const Value &source = binding.input(0), &target = binding.output(0);
    const auto from = device.memory(desc_of(device, source, target), binding.inputs[0]);
    const auto to = device.memory(desc_of(device, target, source), binding.outputs[0]);
    const std::string& name = binding.node.name;
    const dnnl::reorder reorder =
        onednn::call("reorder " + name, [&] { return dnnl::reorder(from, to); });
    return device.kernel(reorder, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, context.threads,
                         "reorder " + name);
  };
  return {{.op = "reorder", .bind = bind}};
}

}  // namespace lockstep::engine::cpu
