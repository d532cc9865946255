#include "topology/readers/formats.h"

#include <fmt/format.h>

#include <array>

#include "topology/readers/ibnetdiscover.h"
#include "topology/readers/lockstep_json.h"
#include "topology/readers/refused.h"
#include "topology/readers/slurm_topology.h"

namespace lockstep::topology {
namespace {

constexpr std::array kFormats{
    Format{"lockstep-json", is_lockstep_json, read_lockstep_json},
    Format{"ibnetdiscover", is_ibnetdiscover, read_ibnetdiscover},
    Format{"slurm-topology", is_slurm_topology, read_slurm_topology},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Reading read_recording(const Recording& recording) {
  for (const Format& format : formats()) {
    if (format.recognises(recording.text)) return format.read(recording);
  }
  if (const auto reason = refusal_of(recording.text)) throw ReadError(recording.name, 0, *reason);
  std::string names;
  for (const Format& format : formats())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  throw ReadError(recording.name, 0,
                  fmt::format("not a recording that can be read; known are: {}", names));
}

}  // namespace lockstep::topology
