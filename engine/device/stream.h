// Streams and events: the order in which a device does its work.
//
// Work enqueued on one stream is done in order. An event marks a place in a stream; work of another
// stream that must come after it waits for the event.
#pragma once

#include <cstdint>

#include "engine/device/visibility.h"

namespace lockstep::engine {

// A place in a stream: all work enqueued before it. Compared only within one stream.
struct Event {
  std::uint64_t sequence = 0;
};

// Thread rule: one thread a stream.
class LOCKSTEP_API Stream {
 public:
  virtual ~Stream() = default;

  // Marks the end of all that has been enqueued so far.
  [[nodiscard]] virtual Event record() = 0;

  // Does what can be done without waiting; cheap when there is nothing. On a CPU this is where the
  // compute thread lends itself to the collectives (a cooperative reduction); a GPU needs none.
  virtual void progress() = 0;

  // Returns when all work before `event` is done. Throws what that work failed with.
  virtual void wait(Event event) = 0;
};

// The compute stream of a CPU: work is done by the calling thread when it is enqueued, so every
// event has already passed.
class LOCKSTEP_API InlineStream final : public Stream {
 public:
  [[nodiscard]] Event record() override { return {}; }
  void progress() override {}
  void wait(Event) override {}
};

}  // namespace lockstep::engine
