#include "tests/engine/run_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/bfloat16.h"
#include "engine/error.h"
#include "engine/executor.h"
#include "engine/ops/ops.h"
#include "engine/passes.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;

// Arenas that end where they should, so that the address sanitizer sees what runs over.
class ExactMemory final : public MemorySource {
 public:
  std::span<std::byte> allocate(std::string_view, std::size_t bytes, Sharing) override {
    blocks_.emplace_back(static_cast<std::byte*>(::operator new(bytes, kPage)));
    std::memset(blocks_.back().get(), 0xFF, bytes);
    return {blocks_.back().get(), bytes};
  }

 private:
  static constexpr std::align_val_t kPage{4096};
  struct Free {
    void operator()(std::byte* block) const { ::operator delete(block, kPage); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
};

// Stored values as the types that hold them convert them.
BFloat16 narrowed(double value, BFloat16) {
  return to_bfloat16(static_cast<float>(value));
}
template <class T>
T narrowed(double value, T) {
  return static_cast<T>(value);
}
double widened(BFloat16 value) {
  return static_cast<double>(to_float(value));
}
template <class T>
double widened(T value) {
  return static_cast<double>(value);
}

template <class T>
void store_as(const Tensor& tensor, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const T value = narrowed(tensor.values[i], T{});
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}
template <class T>
void load_as(std::span<const std::byte> bytes, Tensor& tensor) {
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    tensor.values[i] = widened(value);
  }
}

void store(const Tensor& tensor, DType type, std::span<std::byte> bytes) {
  switch (type) {
    case DType::f32:
      return store_as<float>(tensor, bytes);
    case DType::f64:
      return store_as<double>(tensor, bytes);
    case DType::bf16:
      return store_as<BFloat16>(tensor, bytes);
    case DType::i32:
      return store_as<std::int32_t>(tensor, bytes);
    case DType::i64:
      return store_as<std::int64_t>(tensor, bytes);
    case DType::u8:
      return store_as<std::uint8_t>(tensor, bytes);
  }
}
void load(std::span<const std::byte> bytes, DType type, Tensor& tensor) {
  switch (type) {
    case DType::f32:
      return load_as<float>(bytes, tensor);
    case DType::f64:
      return load_as<double>(bytes, tensor);
    case DType::bf16:
      return load_as<BFloat16>(bytes, tensor);
    case DType::i32:
      return load_as<std::int32_t>(bytes, tensor);
    case DType::i64:
      return load_as<std::int64_t>(bytes, tensor);
    case DType::u8:
      return load_as<std::uint8_t>(bytes, tensor);
  }
}

struct Built {
  Graph graph;
  std::vector<ValueId> inputs, outputs;
};

Built build(const NodeCase& node, const OpTable& ops, InPlace in_place) {
  Built built;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Operand& operand = node.inputs[i];
    if (operand.tensor.absent()) {
      built.inputs.push_back({});
      continue;
    }
    const bool shared = in_place == InPlace::where_allowed &&
                        ops.find(node.op).in_place_input == static_cast<int>(i);
    built.inputs.push_back(built.graph.add_value(
        {.name = fmt::format("in{}", i),
         .dtype = operand.dtype,
         .shape = operand.tensor.shape,
         .role = shared ? Role::activation : operand.role,
         .of = operand.of < 0 ? ValueId{} : built.inputs[static_cast<std::size_t>(operand.of)],
         .part = operand.part}));
  }
  built.outputs = emit(built.graph, ops,
                       {.op = node.op,
                        .name = node.name,
                        .inputs = built.inputs,
                        .outputs = {},
                        .attributes = node.attributes});
  for (std::size_t i = 0; i < node.stored_as.size(); ++i) {
    built.graph.value(built.outputs.at(i)).dtype = node.stored_as[i];
  }
  for (std::size_t i = 0; i < built.outputs.size(); ++i) {
    built.graph.set_result(fmt::format("out{}", i), built.outputs[i]);
  }
  return built;
}

// Where an input lies; a parameter that only a derived weight is made of is not in the plan.
std::span<std::byte> place_of(const Program& program, const PersistentPlacement& placement,
                              const Arenas& arenas, ValueId id) {
  const Graph& graph = program.plan().graph;
  const Value& value = graph.value(id);
  if (!persistent(value.role)) return program.bytes(id);
  return arenas[arena_of(value.role)].subspan(placement.offset_of(graph, id), bytes_of(value));
}

// Fails where a byte outside `written` has changed.
void check_untouched(std::span<const std::byte> before, std::span<const std::byte> after,
                     std::vector<std::pair<std::size_t, std::size_t>> written,
                     std::string_view arena) {
  std::sort(written.begin(), written.end());
  std::size_t at = 0;
  auto same = [&](std::size_t end) {
    if (at < end && std::memcmp(before.data() + at, after.data() + at, end - at) != 0) {
      throw Error(fmt::format("arena {} was written outside the node's outputs", arena));
    }
  };
  for (auto [begin, end] : written) {
    same(begin);
    at = std::max(at, end);
  }
  same(before.size());
}

}  // namespace

Outputs run_node(const NodeCase& node, const KernelTable& kernels, InPlace in_place) {
  const OpTable ops = standard_ops();
  Built built = build(node, ops, in_place);
  Graph main = schedule(layout(std::move(built.graph), ops, kernels), ops);
  const Graph refresh = refreshed({}, ops, derived_weights(main));

  PersistentPlacement placement;
  Bucket bucket;
  for (ValueId id : main.values_of(Role::parameter)) {
    if (!main.value(id).alias_of.valid()) bucket.parameters.push_back(main.value(id).name);
  }
  placement.place_parameters(main, {bucket});
  placement.place(main);
  placement.place(refresh);
  Plan main_plan = plan_memory(place_events(main), ops, placement);
  Plan refresh_plan = plan_memory(place_events(refresh), ops, placement);
  ArenaBytes bytes = main_plan.arena_bytes;
  for (std::size_t i = 0; i < kArenas; ++i) {
    bytes[i] = std::max(bytes[i], refresh_plan.arena_bytes[i]);
  }
  ExactMemory memory;
  const Arenas arenas(bytes, memory);
  Program first(std::move(refresh_plan), kernels, arenas);
  Program program(std::move(main_plan), kernels, arenas);

  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    if (!built.inputs[i].valid()) continue;
    store(node.inputs[i].tensor, node.inputs[i].dtype,
          place_of(program, placement, arenas, built.inputs[i]));
  }
  InlineStream compute, communication;
  first.run(compute, communication);
  std::vector<std::vector<std::byte>> before;
  for (std::size_t i = 0; i < kArenas; ++i) {
    const auto arena = arenas[static_cast<Arena>(i)];
    before.emplace_back(arena.begin(), arena.end());
  }
  program.run(compute, communication);

  Outputs outputs;
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> written(kArenas);
  for (ValueId id : built.outputs) {
    const Value& value = program.plan().graph.value(id);
    const Placement& place = program.plan().placements[static_cast<std::size_t>(id.index)];
    written[static_cast<std::size_t>(place.arena)].emplace_back(place.offset,
                                                                place.offset + place.bytes);
    outputs.tensors.emplace_back(value.shape);
    const auto raw = program.bytes(id);
    load(raw, value.dtype, outputs.tensors.back());
    outputs.bytes.emplace_back(raw.begin(), raw.end());
  }
  for (std::size_t i = 0; i < kArenas; ++i) {
    const auto arena = static_cast<Arena>(i);
    if (arena == Arena::workspace) continue;
    check_untouched(before[i], arenas[arena], written[i], name_of(arena));
  }
  return outputs;
}

std::vector<cpu::Isa> isas() {
  std::vector<cpu::Isa> all{cpu::Isa::portable};
  if (cpu::best_isa() != cpu::Isa::portable) all.push_back(cpu::best_isa());
  return all;
}

}  // namespace lockstep::engine::test
