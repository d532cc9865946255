#include "topology/advice/situation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "topology/advice/providers.h"

namespace lockstep::topology {
namespace {

NcclVersion version_for(const Machine& machine, const AdviceOptions& options) {
  if (!options.nccl.empty()) {
    const auto version = parse_nccl_version(options.nccl);
    if (!version) {
      throw std::invalid_argument(fmt::format(
          "expected a version of NCCL such as 2.28 or 2.28.9, found '{}'", options.nccl));
    }
    return *version;
  }
  return parse_nccl_version(machine.system.nccl).value_or(kAssumedNccl);
}

std::vector<int> gpus_for(const Machine& machine, const AdviceOptions& options) {
  std::vector<int> gpus = options.gpus;
  if (gpus.empty()) {
    gpus.resize(machine.gpus.size());
    std::iota(gpus.begin(), gpus.end(), 0);
  }
  for (const int gpu : gpus) {
    if (gpu < 0 || gpu >= static_cast<int>(machine.gpus.size())) {
      throw std::invalid_argument(fmt::format("the job uses GPU{}, but {} has {} GPUs", gpu,
                                              machine.name.empty() ? "the host" : machine.name,
                                              machine.gpus.size()));
    }
  }
  return gpus;
}

}  // namespace

Situation look_at(const Machine& machine, const PathTable& paths, const AdviceOptions& options) {
  Situation situation{machine,
                      paths,
                      options,
                      version_for(machine, options),
                      provider_of(machine.system),
                      gpus_for(machine, options),
                      {},
                      {}};
  situation.nics = choose_nics(machine, paths, situation.gpus);
  situation.rails = rails_of(machine, paths, situation.gpus, situation.nics);
  return situation;
}

std::vector<int> used_of(const Situation& situation, NicKind layer) {
  std::vector<int> ports;
  std::copy_if(situation.nics.used.begin(), situation.nics.used.end(), std::back_inserter(ports),
               [&](int i) { return rdma_layer(situation.nic(i)) == layer; });
  return ports;
}

}  // namespace lockstep::topology
