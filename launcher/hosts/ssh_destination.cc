#include "launcher/hosts/ssh_destination.h"

#include <fmt/format.h>

namespace lockstep::launcher {

std::string ssh_destination(const AllocatedHost& host) {
  const std::string user = host.user.empty() ? "" : host.user + "@";
  if (host.port == 0) return user + host.name;
  const bool ipv6 = host.name.find(':') != std::string::npos;
  if (ipv6) return fmt::format("ssh://{}[{}]:{}", user, host.name, host.port);
  return fmt::format("ssh://{}{}:{}", user, host.name, host.port);
}

}  // namespace lockstep::launcher
