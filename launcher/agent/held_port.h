// A TCP port that stays ours until rank 0 listens on it.
//
// The socket is bound with SO_REUSEADDR and does not listen: nobody is given the port by chance,
// and a worker that binds it with SO_REUSEADDR, as torch's store does, gets it while we hold it.
#pragma once

#include <cstdint>

#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {

class HeldPort {
 public:
  HeldPort();
  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  UniqueFd socket_;
  std::uint16_t number_ = 0;
};

}  // namespace lockstep::launcher
