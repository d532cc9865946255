#include "runtime/parallel/kernels.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/cpu/optimizer.h"

namespace lockstep::runtime::parallel {
namespace {

using collectives::Buffer;
using collectives::Communicator;
using collectives::ReduceOp;
using collectives::Slice;
using engine::Binding;
using engine::DType;
using engine::Kernel;

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// A parameter's place in its bucket, in elements.
struct Member {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool decayed = false;
};

// A bucket's memory and how to update any range of it.
class BucketUpdate {
 public:
  explicit BucketUpdate(const Binding& binding) {
    const engine::Attributes& attributes = binding.node.attributes;
    const std::size_t parameters = size(attributes.integer("parameters"));
    const std::size_t states = size(attributes.integer("states"));
    elements_ = size(attributes.integer("elements"));
    gradients_ = reinterpret_cast<float*>(binding.inputs.at(0));
    if (binding.inputs.size() == parameters) return;  // a plain sum
    weights_ = reinterpret_cast<float*>(binding.inputs.at(parameters));
    state0_ = reinterpret_cast<float*>(binding.inputs.at(2 * parameters));
    if (states == 2) state1_ = reinterpret_cast<float*>(binding.inputs.at(3 * parameters));
    const std::size_t words = (2 + states) * parameters;
    words_.state = binding.in<engine::StepState>(words);
    words_.early = binding.in<double>(words + 1);
    if (binding.inputs.size() > words + 2) words_.late = binding.in<double>(words + 2);
    rule_ = engine::cpu::update_rule(attributes.text("rule"), attributes);
    for (std::size_t i = 0; i < parameters; ++i) {
      const std::size_t begin = size(attributes.integers("offsets")[i]);
      members_.push_back({begin, begin + size(attributes.integers("counts")[i]),
                          attributes.integers("decayed")[i] != 0});
    }
  }

  [[nodiscard]] Buffer gradients() const { return {gradients_, elements_, DType::f32}; }
  [[nodiscard]] Buffer weights() const { return {weights_, elements_, DType::f32}; }

  // Updates what lies in [begin, end) of the bucket, parameter by parameter.
  void update(std::size_t begin, std::size_t end) const {
    auto first = std::partition_point(members_.begin(), members_.end(),
                                      [&](const Member& member) { return member.end <= begin; });
    for (; first != members_.end() && first->begin < end; ++first) {
      const std::size_t from = std::max(begin, first->begin);
      const std::size_t count = std::min(end, first->end) - from;
      engine::cpu::UpdateRule rule = rule_;
      if (!first->decayed) rule.weight_decay = 0;
      engine::cpu::update_range(rule, words_,
                                {.weight = weights_ + from,
                                 .gradient = gradients_ + from,
                                 .state0 = state0_ + from,
                                 .state1 = state1_ ? state1_ + from : nullptr,
                                 .count = count});
    }
  }

 private:
  std::size_t elements_ = 0;
  float* gradients_ = nullptr;
  float* weights_ = nullptr;
  float* state0_ = nullptr;
  float* state1_ = nullptr;
  engine::cpu::UpdateRule rule_;
  engine::cpu::UpdateWords words_;
  std::vector<Member> members_;  // by begin
};

Kernel reduce_start(const Binding& binding, Communicator& communicator) {
  auto bucket = std::make_shared<const BucketUpdate>(binding);
  if (!binding.node.attributes.integer("fused")) {
    return [bucket, &communicator] {
      communicator.reduce_scatter(bucket->gradients(), ReduceOp::sum, nullptr);
    };
  }
  return [bucket, &communicator] {
    communicator.reduce_scatter(
        bucket->gradients(), ReduceOp::sum,
        [bucket](std::size_t begin, std::size_t end) { bucket->update(begin, end); });
    communicator.all_gather(bucket->weights(), nullptr);
  };
}

Kernel update_start(const Binding& binding, Communicator& communicator) {
  auto bucket = std::make_shared<const BucketUpdate>(binding);
  return [bucket, &communicator] {
    communicator.all_gather(bucket->weights(), [bucket](std::size_t begin, std::size_t end) {
      bucket->update(begin, end);
    });
  };
}

Kernel early_word(const Binding& binding, Communicator& communicator) {
  const Buffer word{binding.out<double>(0), 4, DType::f64};
  return [word, &communicator] { communicator.all_reduce(word, ReduceOp::sum); };
}

Kernel all_reduce_statistics(const Binding& binding, Communicator& communicator) {
  const Buffer sums{binding.out<double>(0), size(binding.output(0).shape.elements()), DType::f64};
  return [sums, &communicator] {
    communicator.stream().wait(communicator.all_reduce(sums, ReduceOp::sum));
  };
}

// Each rank squares its own slices, which hold the sums; the ranks' parts are then added. Every
// host has all slices: the first one's count.
Kernel late_word(const Binding& binding, Communicator& communicator) {
  std::vector<std::span<const float>> slices;
  std::size_t operand = 0;
  const engine::Integers& elements = binding.node.attributes.integers("elements");
  for (std::size_t b = 0; b < elements.size(); ++b) {
    const Slice slice = communicator.slice(size(elements[b]));
    slices.emplace_back(binding.in<float>(operand) + slice.begin, slice.end - slice.begin);
    operand += size(binding.node.attributes.integers("members")[b]);
  }
  double* late = binding.out<double>(0);
  const double clip = binding.node.attributes.real("clip_norm");
  if (communicator.place().host != 0) slices.clear();
  return [slices, late, clip, &communicator] {
    double squares = 0;
    for (std::span<const float> slice : slices) {
      for (float g : slice) squares += static_cast<double>(g) * static_cast<double>(g);
    }
    late[0] = squares;
    communicator.stream().wait(communicator.all_reduce({late, 1, DType::f64}, ReduceOp::sum));
    late[1] = std::min(1.0, clip / (std::sqrt(late[0]) + 1e-6));  // as torch's clip_grad_norm_
  };
}

}  // namespace

void add_kernels(engine::KernelTable& kernels, Communicator& communicator) {
  auto bind_with = [&communicator](Kernel (*bind)(const Binding&, Communicator&)) {
    return [bind, &communicator](const Binding& binding) { return bind(binding, communicator); };
  };
  kernels.add({.op = "early_word", .bind = bind_with(early_word)});
  kernels.add({.op = "reduce_start", .bind = bind_with(reduce_start)});
  kernels.add({.op = "update_start", .bind = bind_with(update_start)});
  kernels.add({.op = "late_word", .bind = bind_with(late_word)});
  kernels.add({.op = "all_reduce_statistics", .bind = bind_with(all_reduce_statistics)});
  // Its events do the waiting.
  kernels.add({.op = "reduce_wait", .bind = [](const Binding&) { return Kernel([] {}); }});
}

}  // namespace lockstep::runtime::parallel
