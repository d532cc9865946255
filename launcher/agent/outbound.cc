#include "launcher/agent/outbound.h"

#include <utility>

#include "launcher/protocol/frame.h"

namespace lockstep::launcher {

void Outbound::send(const Message& message) {
  control_ += frame(encode(message));
}

void Outbound::add_output(Output output) {
  if (discarding_ || output.bytes.empty()) return;
  waiting_bytes_ += output.bytes.size();
  output_.push_back(std::move(output));
}

void Outbound::discard_output() {
  discarding_ = true;
  output_.clear();
  waiting_bytes_ = 0;
}

std::string_view Outbound::next() {
  if (written_ == wire_.size()) {
    wire_ = std::exchange(control_, {});
    written_ = 0;
    if (wire_.empty() && !output_.empty() && credit_ > 0) {
      const auto size = output_.front().bytes.size();
      credit_ -= static_cast<std::int64_t>(size);
      waiting_bytes_ -= size;
      wire_ = frame(encode(std::move(output_.front())));
      output_.pop_front();
    }
  }
  return std::string_view(wire_).substr(written_);
}

void Outbound::wrote(std::size_t count) {
  written_ += count;
}

}  // namespace lockstep::launcher
