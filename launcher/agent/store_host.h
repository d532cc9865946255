// What the host of rank 0 keeps for an attempt: the rendezvous store, and the port of MASTER_PORT.
#pragma once

#include <cstdint>
#include <memory>

#include "launcher/agent/held_port.h"
#include "launcher/protocol/message.h"

namespace lockstep::collectives::rendezvous {
class StoreServer;
}

namespace lockstep::launcher {

// Serves from construction to destruction, from a thread of its own.
class StoreHost {
 public:
  // Listens on the address that is asked for, on a port that the system chooses. Throws
  // std::runtime_error that names the address.
  explicit StoreHost(const Prepare& prepare);
  ~StoreHost();
  StoreHost(const StoreHost&) = delete;
  StoreHost& operator=(const StoreHost&) = delete;

  [[nodiscard]] std::uint16_t store_port() const { return store_port_; }
  [[nodiscard]] std::uint16_t master_port() const { return held_.number(); }

 private:
  HeldPort held_;
  std::unique_ptr<collectives::rendezvous::StoreServer> server_;
  std::uint16_t store_port_ = 0;
};

}  // namespace lockstep::launcher
