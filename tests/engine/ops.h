// The table of ops that tests hand to the passes.
#pragma once

#include "engine/op.h"
#include "engine/ops/ops.h"

namespace lockstep::engine::test {

inline const OpTable& ops() {
  static const OpTable table = standard_ops();
  return table;
}

}  // namespace lockstep::engine::test
