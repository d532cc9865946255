// Runs one node on a device as the product would: layout pass, refresh of derived weights,
// schedule, plan, verifier, executor.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/kernel.h"
#include "engine/op.h"
#include "tests/engine/reference/tensor.h"

namespace lockstep::engine::test {

// An input of the node. Parameters may be given other layouts; an `of` names the parameter (by
// index of the node's input) that a gradient or an optimizer state belongs to.
struct Operand {
  reference::Tensor tensor;  // empty: an optional input that is not there
  DType dtype = DType::f32;
  Role role = Role::input;
  int of = -1;
  int part = 0;
};

struct NodeCase {
  std::string name;
  std::string op;
  Attributes attributes = {};
  std::vector<Operand> inputs;
  std::vector<DType> stored_as = {};  // types of the outputs, as a precision pass may set them;
                                      // empty: as the op infers them
};

// Whether an input's bytes may become the output's.
enum class InPlace { no, where_allowed };

struct Outputs {
  reference::Tensors tensors;
  std::vector<std::vector<std::byte>> bytes;  // of each output
};

// Throws Error as the passes do. Memory that nothing should write is checked to be as it was, what
// nothing has written is NaN.
[[nodiscard]] Outputs run_node(const NodeCase& node, const KernelTable& kernels,
                               InPlace in_place = InPlace::no);

// Those of the CPU's own kernels that this machine can run.
[[nodiscard]] std::vector<cpu::Isa> isas();

}  // namespace lockstep::engine::test
