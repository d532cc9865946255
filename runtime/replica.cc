#include "runtime/replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/error.h"

namespace lockstep::runtime {
namespace {

using engine::Arena;
using engine::ValueId;

std::optional<ValueId> input_named(const engine::Graph& graph, const std::string& name) {
  for (ValueId id : graph.values_of(engine::Role::input)) {
    if (graph.value(id).name == name) return id;
  }
  return std::nullopt;
}

template <class T>
void copy_in(engine::Program& program, const std::string& name, const std::vector<T>& values) {
  // A program need not read every input.
  const std::optional<ValueId> id = input_named(program.plan().graph, name);
  if (!id || !program.plan().placements[static_cast<std::size_t>(id->index)].used) return;
  std::span<std::byte> bytes = program.bytes(*id);
  if (bytes.size() != values.size() * sizeof(T)) {
    throw engine::Error(fmt::format("input \"{}\" takes {} bytes, the batch has {}", name,
                                    bytes.size(), values.size() * sizeof(T)));
  }
  std::memcpy(bytes.data(), values.data(), bytes.size());
}

}  // namespace

Replica::Replica(engine::CompiledJob compiled, const engine::KernelTable& kernels,
                 collectives::Communicator& communicator, int accumulate)
    : compiled_(std::move(compiled)),
      communicator_(communicator),
      accumulate_(accumulate),
      arenas_(compiled_.arena_bytes, communicator) {
  for (auto& [name, plan] : compiled_.plans) {
    programs_.try_emplace(name, plan, kernels, arenas_);
  }
  for (const auto& named : compiled_.placement.saved()) {
    const std::size_t bytes =
        static_cast<std::size_t>(named.shape.elements()) * engine::size_of(named.dtype);
    tensors_.push_back({named.name, named.arena, named.dtype, named.shape,
                        arenas_[named.arena].subspan(named.offset, bytes)});
  }
  engine::Program& ending = program_of(accumulate_ - 1);
  state_ = reinterpret_cast<engine::StepState*>(
      ending.bytes(ending.plan().graph.result("state")).data());
}

void Replica::initialise(std::uint64_t seed) {
  *state_ = {};
  state_->seed = seed;
  std::map<std::string, engine::Initializer> initializers;
  for (const engine::InitialValue& initial : compiled_.initial_values) {
    initializers[compiled_.graph.value(initial.value).name] = initial.initializer;
  }
  communicator_.barrier();
  for (const SavedTensor& tensor : tensors_) {
    auto it = initializers.find(tensor.name);
    // What is one copy a host is written by one rank.
    if (it == initializers.end() ||
        (tensor.arena == Arena::parameters && communicator_.place().local_rank != 0)) {
      continue;
    }
    engine::initialise(
        {reinterpret_cast<float*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float)},
        it->second, seed, tensor.name);
  }
  communicator_.barrier();
  refresh();
}

void Replica::refresh() {
  programs_.at("refresh").run(compute_, communicator_.stream());
}

std::string Replica::program_name(std::int64_t micro) const {
  if (accumulate_ == 1) return "whole";
  if (micro == 0) return "first";
  return micro + 1 == accumulate_ ? "last" : "middle";
}

void Replica::set_inputs(const std::string& prefix, engine::Program& program,
                         const data::Batch& batch) {
  copy_in(program, prefix + "images", batch.images);
  copy_in(program, prefix + "tokens", batch.tokens);
  copy_in(program, prefix + "labels", batch.labels);
  copy_in(program, prefix + "sample_weights", batch.weights);
  if (prefix.empty()) {
    copy_in(program, "sample_rows",
            std::vector<std::int32_t>(batch.rows.begin(), batch.rows.end()));
    copy_in(program, "global_weight", std::vector<float>{static_cast<float>(batch.global_weight)});
  }
}

engine::RunTime Replica::run_micro_step(const data::Batch& batch) {
  engine::Program& program = program_of(batch.micro);
  set_inputs("", program, batch);
  return program.run(compute_, communicator_.stream());
}

void Replica::check_micro_step(
    const data::Batch& batch,
    const std::function<void(const engine::Graph&, const engine::Node&)>& after) {
  engine::Program& program = program_of(batch.micro);
  set_inputs("", program, batch);
  program.run_checked(compute_, communicator_.stream(),
                      [&](const engine::Node& node) { after(program.plan().graph, node); });
}

void Replica::evaluate(const data::Batch& batch, std::span<double, 3> totals) {
  engine::Program& program = programs_.at("evaluation");
  set_inputs("evaluation_", program, batch);
  program.run(compute_, compute_);
  const auto* sums =
      reinterpret_cast<const double*>(program.bytes(program.plan().graph.result("totals")).data());
  for (std::size_t i = 0; i < 3; ++i) totals[i] += sums[i];
}

void Replica::average_buffers() {
  std::span<std::byte> buffers = arenas_[Arena::buffers];
  if (buffers.empty() || communicator_.world() == 1) return;
  communicator_.stream().wait(
      communicator_.all_reduce({buffers.data(), buffers.size() / sizeof(float), engine::DType::f32},
                               collectives::ReduceOp::average));
}

std::span<const float> Replica::gradients() const {
  std::span<std::byte> bytes = arenas_[Arena::gradients];
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::int64_t Replica::parameter_count() const {
  std::int64_t count = 0;
  for (const SavedTensor& tensor : tensors_) {
    if (tensor.arena == Arena::parameters) count += tensor.shape.elements();
  }
  return count;
}

std::span<std::byte> Replica::bytes(const std::string& program, ValueId id) const {
  return programs_.at(program).bytes(id);
}

}  // namespace lockstep::runtime
