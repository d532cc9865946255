// Hosts and refusals as text that a test can show.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/allocation.h"

namespace lockstep::launcher {

// "a:8 b me@c:2/4 d::22"
inline std::string shown(const std::vector<AllocatedHost>& hosts) {
  std::string text;
  for (const AllocatedHost& host : hosts) {
    if (!text.empty()) text += ' ';
    if (!host.user.empty()) text += host.user + "@";
    text += host.name;
    if (host.slots) text += fmt::format(":{}", *host.slots);
    if (host.max_slots) text += fmt::format("/{}", *host.max_slots);
    if (host.port != 0) text += fmt::format(" port {}", host.port);
  }
  return text;
}

// What the refusal says.
template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "taken";
}

}  // namespace lockstep::launcher
