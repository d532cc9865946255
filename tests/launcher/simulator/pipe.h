// One direction of a TCP connection: bytes arrive late, never out of order, and while the network
// is cut not at all. What TCP has to send again is late; nothing is lost but by drop().
//
// Thread rule: one thread. It must outlive the queue's events.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "tests/launcher/simulator/event_queue.h"

namespace lockstep::launcher::simulator {

struct Delays {
  Time least{100'000}, most{1'000'000};
  unsigned lossy_per_mille = 0;  // chunks that TCP has to send again
};

class Pipe {
 public:
  // `deliver`: a chunk of bytes, or nothing at the end of the stream.
  using Deliver = std::function<void(std::optional<std::string>)>;

  Pipe(EventQueue& queue, Chance& chance, Delays delays, Deliver deliver);

  void send(std::string bytes) { push(std::move(bytes)); }
  void close() { push(std::nullopt); }
  // What is under way does not arrive any more, nor what is sent.
  void drop() { dropped_ = true; }
  // The connection is reset: the other side sees its end, soon.
  void reset();
  void cut() { cut_ = true; }
  void mend();

  // The longest that anything took so far.
  [[nodiscard]] Time slowest() const { return slowest_; }

 private:
  struct Chunk {
    Time sent;
    std::optional<std::string> bytes;
  };
  void push(std::optional<std::string> bytes);
  void arrive();

  EventQueue& queue_;
  Chance& chance_;
  Delays delays_;
  Deliver deliver_;
  std::deque<Chunk> under_way_;
  std::size_t held_ = 0;  // that would have arrived, were the network not cut
  Time last_arrival_{};
  Time slowest_{};
  bool cut_ = false, dropped_ = false, closed_ = false;
};

}  // namespace lockstep::launcher::simulator
