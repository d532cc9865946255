// The step of a call between hosts: what each host has, lying in one piece in the memory of its
// first rank, becomes what all hosts have together.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/host/call.h"

namespace lockstep::collectives::host {

// Every method is called on every host in the same order with the same call; it returns when
// `data` is what it will be on this host, and other hosts may still wait for theirs.
//
// Thread rule: one thread. Errors: CollectiveError naming the peer, or the reason of an abort,
// which ends a wait at once; there is no deadline of its own. After an error nothing else may be
// called.
class BetweenHosts {
 public:
  virtual ~BetweenHosts() = default;

  // Combines by call.op; `average` divides by the number of all ranks. All hosts end with the same
  // bits. A barrier is the sum of nothing.
  virtual void all_reduce(const Call& call, std::span<std::byte> data) = 0;

  // From the host of rank call.root.
  virtual void broadcast(const Call& call, std::span<std::byte> data) = 0;
};

}  // namespace lockstep::collectives::host
