// A host that this one speaks to.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <span>
#include <string>

#include "collectives/ucx/worker.h"

namespace lockstep::collectives::ucx {

// Thread rule: the worker's thread, which makes progress for it. Errors: CollectiveError naming it.
class Peer {
 public:
  // Begins to connect. `name`: of the host's first rank, "rank 4 (node3)".
  Peer(Worker& worker, const std::string& address, std::string name);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] Request send(Tag tag, std::span<const std::byte> from);

  // Why it cannot be reached any more; UCS_OK while it can.
  [[nodiscard]] ucs_status_t failure() const { return failure_; }

  // What its connection consists of, as UCX prints it: has the names of transports and devices.
  [[nodiscard]] std::string connection() const;

  // kAfterAll: once all that was sent has arrived, at once where the peer has failed. kAtOnce: what
  // is under way ends with an error. The request ends when the peer need not exist any more.
  // Nothing may be sent afterwards.
  enum class Closing { kAfterAll, kAtOnce };
  [[nodiscard]] Request close(Closing how);

 private:
  Worker& worker_;
  std::string name_;
  ucs_status_t failure_ = UCS_OK;
  ucp_ep_h endpoint_ = nullptr;
};

}  // namespace lockstep::collectives::ucx
