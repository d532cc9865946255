// The rendezvous store of a job, and the job's secret: where its workers meet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lockstep::collectives::rendezvous {
class StoreServer;
}

namespace lockstep::launcher {

// Serves from construction to destruction, from a thread of its own.
class StoreHost {
 public:
  // Draws a new secret and listens on the loopback. Throws std::runtime_error.
  StoreHost(std::uint32_t world, std::uint32_t generation);
  ~StoreHost();
  StoreHost(const StoreHost&) = delete;
  StoreHost& operator=(const StoreHost&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }  // host:port
  [[nodiscard]] const std::string& secret() const { return secret_; }

 private:
  std::string secret_;
  std::unique_ptr<collectives::rendezvous::StoreServer> server_;
  std::string address_;
};

}  // namespace lockstep::launcher
