// Whether one host reaches another: one listens and says a token, the other connects and looks for
// it, so that a host that happens to have the same address (172.17.0.1 of every docker0) is not
// taken for the one that was meant.
//
// Both run on a Reactor and block nothing. Thread rule: the reactor's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "launcher/process/reactor.h"
#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {

// Listens on all addresses of this host, IPv4 and IPv6, and says `token` to whoever connects.
class MeetingPoint {
 public:
  // Errors: std::system_error.
  MeetingPoint(Reactor& reactor, std::string token);
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;
  ~MeetingPoint();

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  Reactor& reactor_;
  std::string token_;
  UniqueFd socket_;
  std::uint16_t port_ = 0;
};

// An address that said the token, and the interface of this host by which it was reached.
struct ReachedAddress {
  std::string address;
  std::string interface;
};

// Tries all addresses of a host at once. Once one has answered, the others have kMore left.
class ReachTest {
 public:
  using Done = std::function<void(std::vector<ReachedAddress>)>;  // in the order that was asked for

  static constexpr std::chrono::milliseconds kMore{200};

  // `done` is called once from the reactor, when all have answered or `limit` is over; the test may
  // be destroyed in it. An address that cannot even be tried counts as not reached.
  struct Question {
    std::vector<std::string> addresses;  // numeric
    std::uint16_t port = 0;
    std::string token;
    std::chrono::milliseconds limit{3'000};
  };
  ReachTest(Reactor& reactor, Question question, Done done);
  ReachTest(const ReachTest&) = delete;
  ReachTest& operator=(const ReachTest&) = delete;
  ~ReachTest();

 private:
  struct Try {
    std::string address;
    UniqueFd socket;
    std::string heard;
    bool right = false;
    std::string interface;
  };
  void begin(Try& attempt);
  void read(Try& attempt);
  void end(Try& attempt);
  void finish();
  void finish_after(std::chrono::milliseconds delay);

  Reactor& reactor_;
  Question question_;
  Done done_;
  std::list<Try> tries_;
  std::size_t open_ = 0;
  bool answered_ = false;
  UniqueFd timer_;
};

}  // namespace lockstep::launcher
