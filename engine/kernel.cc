#include "engine/kernel.h"

#include <fmt/format.h>

#include "engine/error.h"

namespace lockstep::engine {

void KernelTable::add(KernelDefinition definition) {
  std::string op = definition.op;
  if (!kernels_.emplace(op, std::move(definition)).second) {
    throw Error(fmt::format("op \"{}\" has two kernels", op));
  }
}

const KernelDefinition& KernelTable::find(std::string_view op) const {
  auto it = kernels_.find(op);
  if (it == kernels_.end()) throw Error(fmt::format("this device has no kernel for \"{}\"", op));
  return it->second;
}

}  // namespace lockstep::engine
