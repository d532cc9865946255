// The launcher's standard output and error, written in order and without blocking.
//
// One queue for both, so that lines of the two never mix where they lead to the same place. The
// descriptors are shared with other processes and stay as they are: they are polled, and a pipe
// that is ready takes PIPE_BUF bytes without blocking. A stream whose reader is gone
// swallows what it is given; the job goes on and its logs are kept. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

class OutputQueue {
 public:
  // Bytes of whose output, for credit.
  struct Debt {
    std::size_t host = 0;
    std::int64_t bytes = 0;
  };

  void add(int fd, std::string bytes, std::optional<Debt> debt = std::nullopt);

  // Writes what can be written now; returns what is thereby owed to the agents.
  [[nodiscard]] std::vector<Debt> flush();

  [[nodiscard]] bool empty() const { return items_.empty(); }
  // The descriptor to wait for (POLLOUT). REQUIRES: !empty().
  [[nodiscard]] int blocked_on() const { return items_.front().fd; }

 private:
  struct Item {
    int fd;
    std::string bytes;
    std::optional<Debt> debt;
  };
  std::deque<Item> items_;
  std::size_t written_ = 0;  // of the first item
  std::vector<int> closed_;
};

}  // namespace lockstep::launcher
