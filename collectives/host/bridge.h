// The thread that makes the steps between hosts, on the first rank of each. It sleeps until the
// ranks of its host have summed a call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "collectives/host/between_hosts.h"
#include "collectives/host/call.h"
#include "collectives/host/channel.h"
#include "collectives/host/control.h"

namespace lockstep::collectives::host {

// Thread rule: one thread makes, feeds and destroys it. Destroying it with steps undone leaves the
// other hosts waiting; abort first.
class Bridge {
 public:
  struct Parts {
    std::unique_ptr<BetweenHosts> hosts;
    Control control;                       // of the place between hosts
    std::shared_ptr<Interrupt> interrupt;  // what `hosts` waits with
    std::function<void(std::string_view)> abort;
  };
  explicit Bridge(Parts parts);
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  struct Step {
    Sequence sequence = 0;
    Call call;
    std::span<std::byte> data;  // valid until the call has ended
  };
  // In the order of the calls. When it is done, the place between hosts has summed the call.
  void add(Step step);

 private:
  void run();
  [[nodiscard]] std::optional<Step> next();
  [[nodiscard]] bool ranks_have_summed(Sequence sequence);

  Parts parts_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<Step> steps_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace lockstep::collectives::host
