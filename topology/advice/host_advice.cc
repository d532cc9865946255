#include "topology/advice/host_advice.h"

#include <utility>

#include "topology/advice/gid_facts.h"
#include "topology/advice/nccl_library.h"
#include "topology/paths.h"

namespace lockstep::topology {

HostAdvice advise_host(const Machine& machine, AdviceOptions options, Whereabouts where) {
  options.gids = gid_facts(machine);
  if (where == Whereabouts::kHere && options.nccl.empty() && !machine.system.nccl_library.empty()) {
    options.known_variables = variables_of_library(machine.system.nccl_library);
  }
  return advise(machine, paths_of(machine), options);
}

}  // namespace lockstep::topology
