// What a host communicator is made of, however its ranks met.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/host/between_hosts.h"
#include "collectives/host/channel.h"
#include "collectives/host/control.h"
#include "collectives/host/meeting.h"

namespace lockstep::collectives::host {

struct Membership {
  int rank = 0;
  int world = 1;
  HostPlace place;
  std::chrono::nanoseconds deadline{};
  std::string name;
  std::unique_ptr<Meeting> meeting;  // of the ranks of this host
  // Only for the first rank of a host among several. Is given the ranks of this host, and what is
  // to be told whom the step between hosts waits for.
  using OnWait = std::function<void(const Control::Awaited&)>;
  std::function<std::unique_ptr<BetweenHosts>(std::vector<int>, OnWait)> connect;
  std::shared_ptr<Interrupt> interrupt;  // what `connect`'s waits with
  // Tells those who do not share the control segment; may be empty.
  std::function<void(std::string_view)> tell_abort;
  // Has a function called, from any thread, with the reason of an abort that came from outside; may
  // be empty.
  std::function<void(std::function<void(std::string_view)>)> on_abort;
};

[[nodiscard]] std::unique_ptr<Communicator> make_communicator(Membership membership);

}  // namespace lockstep::collectives::host
