// What the coordinator is to bring about: a job, and the hosts that it may use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

struct PlannedHost {
  std::string name = "this host";  // as the user or the batch system names it
  std::uint32_t workers = 1;       // at least 1
  std::string address = {};        // a numeric one that the user gave: tried first; empty: none
};

struct JobPlan {
  HostJob job;  // without what differs between hosts and attempts
  std::vector<PlannedHost> hosts;
  // How many hosts an attempt needs, and how many it may have; both 0: all of them.
  std::size_t least_hosts = 0, most_hosts = 0;
  std::uint32_t max_restarts = 0;             // after failures; membership changes do not count
  std::string version;                        // what every agent must be
  std::chrono::milliseconds grace{1'000};     // between SIGTERM and SIGKILL
  std::chrono::milliseconds connect{10'000};  // for an agent to be there
  std::chrono::milliseconds silence{8'000};   // after which a host that says nothing is lost

  [[nodiscard]] std::size_t needed() const { return least_hosts != 0 ? least_hosts : hosts.size(); }
  [[nodiscard]] std::size_t wanted() const { return most_hosts != 0 ? most_hosts : hosts.size(); }
};

}  // namespace lockstep::launcher
