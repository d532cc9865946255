// Source: NCCL user guide (NCCL_SOCKET_NTHREADS): 1 thread and 1 socket, but for the adapters of
// AWS (2 and 8) and Google (4 and 1); more on 100G networks.
#include <fmt/format.h>

#include <cstdint>

#include "topology/advice/rules.h"

namespace lockstep::topology {
namespace {

constexpr double kFast_Gbps = 40;
constexpr std::uint32_t kAmazon = 0x1d0f, kGoogle = 0x1ae0;

}  // namespace

Ruling socket_threads(const Situation& situation) {
  if (!situation.crosses_hosts() || !situation.nics.used.empty()) return {};
  const Nic* fastest = nullptr;
  for (const Nic& nic : situation.machine.nics) {
    if (nic.kind == NicKind::efa || nic.pci.vendor == kAmazon || nic.pci.vendor == kGoogle) {
      return {};
    }
    if (nic.kind != NicKind::ethernet || nic.state == NicState::down) continue;
    if (fastest == nullptr || nic.rate_Gbps > fastest->rate_Gbps) fastest = &nic;
  }
  if (fastest == nullptr || fastest->rate_Gbps.value_or(0) < kFast_Gbps) return {};
  Advice advice{
      .variable = "NCCL_SOCKET_NTHREADS",
      .value = "4",
      .reason =
          "one TCP connection on one thread does not fill a link this fast, and NCCL opens "
          "one; compare with a bandwidth test",
      .evidence = {"no RDMA port is usable, so that hosts talk by TCP",
                   fmt::format("{} runs at {:g} Gb/s", fastest->name, *fastest->rate_Gbps)},
      .confidence = Confidence::low};
  Advice sockets = advice;
  sockets.variable = "NCCL_NSOCKS_PERTHREAD";
  return {{advice, sockets}, {}, {}};
}

}  // namespace lockstep::topology
