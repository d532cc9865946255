#include "launcher/agent/line_splitter.h"

#include <algorithm>
#include <utility>

namespace lockstep::launcher {

std::string LineSplitter::add(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t length = std::min(end, bytes.size());
    const std::size_t room = kLongestLine - pending_.size();
    if (length > room) {
      lines.append(pending_).append(bytes.substr(0, room)).push_back('\n');
      pending_.clear();
      bytes.remove_prefix(room);
    } else if (end == std::string_view::npos) {
      pending_.append(bytes);
      break;
    } else {
      lines.append(pending_).append(bytes.substr(0, end + 1));
      pending_.clear();
      bytes.remove_prefix(end + 1);
    }
  }
  return lines;
}

std::string LineSplitter::finish() {
  if (pending_.empty()) return {};
  pending_.push_back('\n');
  return std::exchange(pending_, {});
}

}  // namespace lockstep::launcher
