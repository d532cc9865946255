// The signals that a launcher or an agent takes by descriptor instead of by handler.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {

// Blocks the signals (in this thread and those it starts later) and reads them from a descriptor.
// A signal that was ignored when the process started stays ignored, as after nohup; SIGCHLD and
// SIGPIPE are always taken (a blocked SIGPIPE turns a write to a closed pipe into EPIPE).
class Signals {
 public:
  explicit Signals(std::initializer_list<int> numbers);

  [[nodiscard]] int fd() const { return fd_.get(); }
  // The next signal that has arrived, if any.
  [[nodiscard]] std::optional<int> next() const;

 private:
  UniqueFd fd_;
};

// "SIGSEGV" for 11; "signal 99" where there is no name.
[[nodiscard]] std::string signal_name(int number);

}  // namespace lockstep::launcher
