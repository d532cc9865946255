#include "launcher/coordinator/screen.h"

#include <fmt/format.h>

namespace lockstep::launcher {

std::string Screen::show(const Output& output, std::string_view host) {
  if (lead_ == LeadLines::kBare && output.rank == 0 && output.stream == Stream::kOut) {
    constexpr std::size_t kWidest = 4096;  // no terminal shows more of one line
    const std::size_t end = output.bytes.find_last_of("\r\n");
    progress_ = end == std::string::npos ? progress_ + output.bytes : output.bytes.substr(end + 1);
    if (progress_.size() > kWidest) progress_.erase(0, progress_.size() - kWidest);
    return output.bytes;
  }
  const std::string prefix =
      host.empty() ? fmt::format("[{}] ", output.rank) : fmt::format("[{}:{}] ", host, output.rank);
  std::string lines;
  lines.reserve(output.bytes.size() + output.bytes.size() / 8);
  std::string_view rest = output.bytes;
  while (!rest.empty()) {
    const std::size_t length = rest.find('\n') + 1;
    const std::string_view line = length == 0 ? rest : rest.substr(0, length);
    lines.append(prefix).append(line);
    rest.remove_prefix(line.size());
  }
  return above_progress(std::move(lines));
}

std::string Screen::say(std::string_view lines) {
  return above_progress(std::string(lines));
}

std::string Screen::above_progress(std::string lines) const {
  if (progress_.empty()) return lines;
  return "\r\x1b[K" + lines + progress_;
}

}  // namespace lockstep::launcher
