#include "topology/advice/comments.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::topology {

std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  return text;
}

std::string heading_comment(const HostAdvice& advice) {
  const std::string host = advice.host.empty() ? "this host" : on_one_line(advice.host);
  return fmt::format("# lockstep tune: {}, NCCL {}\n", host, on_one_line(advice.nccl));
}

std::string setting_comment(const Advice& advice) {
  if (!advice.kept) {
    return fmt::format("# {} ({})\n", on_one_line(advice.reason), to_string(advice.confidence));
  }
  return fmt::format("# kept: {}={} from {}, {}: {}\n", on_one_line(advice.variable),
                     on_one_line(advice.value), on_one_line(advice.origin),
                     to_string(advice.standing), on_one_line(advice.reason));
}

}  // namespace lockstep::topology
