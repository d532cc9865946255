// What a host communicator is made of, however its ranks met.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/communicator.h"
#include "collectives/host/meeting.h"

namespace lockstep::collectives::host {

struct Membership {
  int rank = 0;
  int world = 1;
  std::chrono::nanoseconds deadline{};
  std::string name;
  std::unique_ptr<Meeting> meeting;
  // Tells those who do not share the control segment; may be empty.
  std::function<void(std::string_view)> tell_abort;
  // Has a function called, from any thread, with the reason of an abort that came from outside; may
  // be empty.
  std::function<void(std::function<void(std::string_view)>)> on_abort;
};

[[nodiscard]] std::unique_ptr<Communicator> make_communicator(Membership membership);

}  // namespace lockstep::collectives::host
