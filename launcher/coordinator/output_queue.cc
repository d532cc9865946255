#include "launcher/coordinator/output_queue.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace lockstep::launcher {
namespace {

bool ready(int fd) {
  pollfd wait{fd, POLLOUT, 0};
  return ::poll(&wait, 1, 0) > 0;
}

bool is_regular_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

void OutputQueue::add(int fd, std::string bytes, std::optional<Debt> debt) {
  items_.push_back({fd, std::move(bytes), debt});
}

std::vector<OutputQueue::Debt> OutputQueue::flush() {
  std::vector<Debt> debts;
  while (!items_.empty()) {
    const Item& item = items_.front();
    const std::size_t left = item.bytes.size() - written_;
    if (left == 0 || std::ranges::count(closed_, item.fd) > 0) {
      if (item.debt) debts.push_back(*item.debt);
      items_.pop_front();
      written_ = 0;
      continue;
    }
    if (!ready(item.fd)) break;
    const std::size_t size =
        is_regular_file(item.fd) ? left : std::min<std::size_t>(left, PIPE_BUF);
    const ssize_t count = ::write(item.fd, item.bytes.data() + written_, size);
    if (count >= 0) {
      written_ += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      closed_.push_back(item.fd);
    }
  }
  return debts;
}

}  // namespace lockstep::launcher
