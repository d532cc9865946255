#include "launcher/remote/ssh_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep::launcher {
namespace {

constexpr int kSshFailed = 255;       // ssh's own failures
constexpr int kProgramMissing = 127;  // a shell's

// What sshd says, or ssh of it, when more connections come than it lets in before they have logged
// in, and what a busy name server brings.
constexpr std::array<std::string_view, 6> kPassing = {
    "kex_exchange_identification", "ssh_exchange_identification",
    "Connection closed by",        "Connection reset by",
    "during banner exchange",      "Temporary failure in name resolution"};

struct Advice {
  std::string_view says;
  std::string_view remedy;
};
constexpr std::array<Advice, 3> kAdvice = {{
    {"Host key verification failed", "its host key is not the known one: see known_hosts"},
    {"Permission denied (", "give it a key that needs no question (ssh-copy-id, ssh-agent)"},
    {"Could not resolve hostname", "no such name: see the host list and /etc/hosts"},
}};

// The last line that says something: ssh prints its reason last.
std::string_view last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t end = text.rfind('\n');
  text = end == std::string_view::npos ? text : text.substr(end + 1);
  constexpr std::string_view kPrefix = "ssh: ";
  return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
}

std::string unreached(const SshEnd& end, std::string_view client) {
  const std::string_view said = last_line(end.said);
  if (said.empty()) {
    return fmt::format("could not be reached ({} ended with exit code {})", client, end.code);
  }
  for (const Advice& advice : kAdvice) {
    if (said.find(advice.says) != std::string_view::npos) {
      return fmt::format("could not be reached: {} ({})", said, advice.remedy);
    }
  }
  return fmt::format("could not be reached: {}", said);
}

}  // namespace

SshFailure ssh_failure(const SshEnd& end, std::string_view client, std::string_view program) {
  if (end.signal != 0) return {fmt::format("{} was ended by a signal", client), false};
  if (!end.reached) {
    const bool passes = std::ranges::any_of(kPassing, [&end](std::string_view text) {
      return end.said.find(text) != std::string::npos;
    });
    return {unreached(end, client), passes};
  }
  const std::string_view said = last_line(end.said);
  if (end.code == kProgramMissing) {
    return {fmt::format("has no {} at the launcher's own path, nor in its PATH: install Lockstep "
                        "there, at the same place",
                        program),
            false};
  }
  if (end.code == kSshFailed) return {fmt::format("the connection was lost: {}", said), false};
  return {fmt::format("{} ended with exit code {}: {}", program, end.code, said), false};
}

}  // namespace lockstep::launcher
