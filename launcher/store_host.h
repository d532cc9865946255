// The rendezvous store of a job, and the job's secret: where its workers meet.
#pragma once

#include <string>

namespace lockstep::launcher {

class StoreHost {
 public:
  // Draws a new secret.
  StoreHost();
  [[nodiscard]] const std::string& address() const { return address_; }  // host:port
  [[nodiscard]] const std::string& secret() const { return secret_; }

 private:
  std::string address_;
  std::string secret_;
};

}  // namespace lockstep::launcher
