#include "runtime/fault_search.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/bfloat16.h"

namespace lockstep::runtime {
namespace {

template <class T>
bool all_finite(std::span<const std::byte> bytes) {
  const T* values = reinterpret_cast<const T*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    if constexpr (std::is_same_v<T, engine::BFloat16>) {
      if (!std::isfinite(engine::to_float(values[i]))) return false;
    } else {
      if (!std::isfinite(values[i])) return false;
    }
  }
  return true;
}

bool finite(std::span<const std::byte> bytes, engine::DType type) {
  switch (type) {
    case engine::DType::f32:
      return all_finite<float>(bytes);
    case engine::DType::f64:
      return all_finite<double>(bytes);
    case engine::DType::bf16:
      return all_finite<engine::BFloat16>(bytes);
    default:
      return true;
  }
}

}  // namespace

std::optional<Fault> find_fault(Replica& replica, const data::Batch& batch) {
  std::optional<Fault> fault;
  std::int64_t place = 0;
  for (const SavedTensor& tensor : replica.tensors()) {
    if (!fault && !finite(tensor.bytes, tensor.dtype)) {
      fault = {place, fmt::format("\"{}\" holds a number that is not finite before the step begins",
                                  tensor.name)};
    }
  }
  ++place;
  if (!fault && !all_finite<float>(std::as_bytes(std::span(batch.images)))) {
    fault = {place, "the batch's images hold a number that is not finite"};
  }
  const std::string program = replica.program_name(batch.micro);
  replica.check_micro_step(batch, [&](const engine::Graph& graph, const engine::Node& node) {
    ++place;
    if (fault || node.phase > engine::Phase::backward) return;
    for (engine::ValueId id : node.outputs) {
      const engine::Value& value = graph.value(id);
      // Library layouts may hold anything in their padding.
      if (!value.layout.canonical() || finite(replica.bytes(program, id), value.dtype)) continue;
      fault = {place,
               fmt::format("op {} \"{}\" ({}) is the first to give a number that is not finite, in "
                           "tensor \"{}\" {}[{}]",
                           node.op, node.name, name_of(node.phase), value.name,
                           name_of(value.dtype), value.shape.text())};
      return;
    }
  });
  return fault;
}

}  // namespace lockstep::runtime
