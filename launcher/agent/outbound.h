// What an agent has still to write to its coordinator, without the descriptor.
//
// Control messages go first; output waits for credit and for them. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

class Outbound {
 public:
  void send(const Message& message);
  void add_output(Output output);
  void add_credit(std::int64_t bytes) { credit_ += bytes; }
  // Forgets the output that waits and all that comes.
  void discard_output();

  // More output waits than is worth keeping: stop reading from the workers.
  [[nodiscard]] bool backed_up() const { return waiting_bytes_ >= kEnoughWaiting; }
  [[nodiscard]] bool has_output() const { return !output_.empty(); }

  // What to write next; empty when there is nothing, or no credit.
  [[nodiscard]] std::string_view next();
  // REQUIRES: count <= next().size().
  void wrote(std::size_t count);

 private:
  static constexpr std::size_t kEnoughWaiting = std::size_t{256} << 10;

  std::string wire_;  // whole frames, the first perhaps written in part
  std::size_t written_ = 0;
  std::string control_;
  std::deque<Output> output_;
  std::size_t waiting_bytes_ = 0;
  std::int64_t credit_ = kOutputWindow;
  bool discarding_ = false;
};

}  // namespace lockstep::launcher
