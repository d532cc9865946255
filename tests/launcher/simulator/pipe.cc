#include "tests/launcher/simulator/pipe.h"

#include <algorithm>
#include <utility>

namespace lockstep::launcher::simulator {

Pipe::Pipe(EventQueue& queue, Chance& chance, Delays delays, Deliver deliver)
    : queue_(queue), chance_(chance), delays_(delays), deliver_(std::move(deliver)) {}

void Pipe::push(std::optional<std::string> bytes) {
  if (dropped_ || closed_) return;
  closed_ = !bytes;
  Time delay = chance_.between(delays_.least, delays_.most);
  if (delays_.lossy_per_mille > 0 && chance_.below(1000) < delays_.lossy_per_mille) {
    delay += chance_.between(std::chrono::milliseconds(200), std::chrono::milliseconds(800));
  }
  under_way_.push_back({queue_.now(), std::move(bytes)});
  last_arrival_ = std::max(last_arrival_, queue_.now() + delay);
  queue_.at(last_arrival_, [this] { arrive(); });
}

void Pipe::arrive() {
  if (under_way_.empty()) return;
  if (cut_) {
    ++held_;
    return;
  }
  Chunk chunk = std::move(under_way_.front());
  under_way_.pop_front();
  if (dropped_) return;
  slowest_ = std::max(slowest_, queue_.now() - chunk.sent);
  deliver_(std::move(chunk.bytes));
}

void Pipe::reset() {
  under_way_.clear();
  held_ = 0;
  push(std::nullopt);
}

void Pipe::mend() {
  cut_ = false;
  last_arrival_ = std::max(last_arrival_, queue_.now() + delays_.most);
  for (; held_ > 0; --held_) queue_.at(last_arrival_, [this] { arrive(); });
}

}  // namespace lockstep::launcher::simulator
