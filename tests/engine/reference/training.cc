// Optimizers as torch documents them, and the words that steer a step.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/device/step_state.h"
#include "engine/optimizer.h"
#include "tests/engine/reference/reference.h"

namespace lockstep::engine::reference {
namespace {

void pack(const StepState& state, Tensor& bytes) {
  std::array<unsigned char, sizeof(StepState)> raw{};
  std::memcpy(raw.data(), &state, raw.size());
  std::copy(raw.begin(), raw.end(), bytes.values.begin());
}

double clip_factor(const Tensor& late) {
  return late.absent() ? 1.0 : late[1];
}

}  // namespace

StepState state_of(const Tensor& bytes) {
  std::array<unsigned char, sizeof(StepState)> raw{};
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<unsigned char>(bytes.values[i]);
  StepState state;
  std::memcpy(&state, raw.data(), raw.size());
  return state;
}

void sgd(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Tensor &w = inputs[0], &g = inputs[1], &momentum = inputs[2], &early = inputs[4];
  const double rate = static_cast<double>(state_of(inputs[3]).learning_rate);
  const double mu = attributes.real("momentum"), decay = attributes.real("weight_decay");
  outputs[0].values = w.values;
  outputs[1].values = momentum.values;
  if (early[3] != 0) return;
  for (std::int64_t i = 0; i < w.shape.elements(); ++i) {
    const double d = g[i] * clip_factor(inputs[5]) + decay * w[i];
    const double m = mu * momentum[i] + d;
    outputs[1][i] = m;
    outputs[0][i] = w[i] - rate * (attributes.integer("nesterov") ? d + mu * m : m);
  }
}

void adamw(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Tensor &w = inputs[0], &g = inputs[1], &m = inputs[2], &v = inputs[3], &early = inputs[5];
  const StepState state = state_of(inputs[4]);
  const double rate = static_cast<double>(state.learning_rate);
  const double beta1 = attributes.real("beta1"), beta2 = attributes.real("beta2");
  const double steps = static_cast<double>(state.applied + 1);
  outputs[0].values = w.values;
  outputs[1].values = m.values;
  outputs[2].values = v.values;
  if (early[3] != 0) return;
  for (std::int64_t i = 0; i < w.shape.elements(); ++i) {
    const double d = g[i] * clip_factor(inputs[6]);
    outputs[1][i] = beta1 * m[i] + (1 - beta1) * d;
    outputs[2][i] = beta2 * v[i] + (1 - beta2) * d * d;
    const double m_hat = outputs[1][i] / (1 - std::pow(beta1, steps));
    const double v_hat = outputs[2][i] / (1 - std::pow(beta2, steps));
    const double decayed = w[i] - rate * attributes.real("weight_decay") * w[i];
    outputs[0][i] = decayed - rate * m_hat / (std::sqrt(v_hat) + attributes.real("epsilon"));
  }
}

void clip_scale(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  double squares = 0;
  for (const Tensor& gradient : inputs) {
    for (double v : gradient.values) squares += v * v;
  }
  outputs[0][0] = squares;
  outputs[0][1] = std::min(1.0, attributes.real("clip_norm") / (std::sqrt(squares) + 1e-6));
}

void advance_state(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  StepState state = state_of(inputs[0]);
  state.learning_rate = static_cast<float>(learning_rate(schedule_from(attributes), state.step));
  state.step += 1;
  state.global_weight = static_cast<float>(inputs[1][0]);
  state.skip = 0;
  pack(state, outputs[0]);
}

void add_totals(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  for (std::int64_t i = 0; i < 3; ++i) {
    outputs[0][i] = inputs[0][i] + (attributes.integer("first") ? 0.0 : inputs[1][i]);
  }
}

void control_word(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  for (std::int64_t i = 0; i < 3; ++i) outputs[0][i] = inputs[0][i];
  outputs[0][3] = std::isfinite(inputs[0][0]) ? 0 : 1;
}

void conclude_state(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  StepState state = state_of(inputs[0]);
  const Tensor &early = inputs[1], &late = inputs[2];
  state.loss_sum = early[0];
  state.weight_sum = early[1];
  state.correct_sum = early[2];
  state.skip = early[3] != 0 ? 1 : 0;
  state.squared_norm = late.absent() ? 0 : late[0];
  state.gradient_scale = static_cast<float>(clip_factor(late));
  if (!state.skip) state.applied += 1;
  pack(state, outputs[0]);
}

}  // namespace lockstep::engine::reference
