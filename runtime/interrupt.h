// Ctrl-C and TERM as a question instead of an interruption, for a worker that nobody launched.
#pragma once

#include "engine/device/visibility.h"

namespace lockstep::runtime {

// Blocks SIGINT and SIGTERM for the thread that makes it and threads made later, and says whether
// one has come. The destructor gives the signals back. Thread rule: one thread.
class LOCKSTEP_API InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Whether a signal has come since the last call.
  [[nodiscard]] bool interrupted();

 private:
  int descriptor_ = -1;
};

}  // namespace lockstep::runtime
