// Small recordings to merge, built in code, and what is looked at in the machine they make.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology::test {

inline Machine of_source(const std::string& source) {
  Machine machine;
  machine.sources = {source};
  return machine;
}

inline Nic nic(const std::string& name, std::optional<int> port = std::nullopt) {
  Nic made;
  made.name = name;
  made.port = port;
  return made;
}

inline Interface interface(const std::string& name, InterfaceKind kind) {
  Interface made;
  made.name = name;
  made.kind = kind;
  return made;
}

inline DeviceId gpu_id(int index) {
  return {DeviceKind::gpu, index};
}

inline DeviceId nic_id(int index) {
  return {DeviceKind::nic, index};
}

inline std::vector<std::string> messages_of(const Machine& machine) {
  std::vector<std::string> messages;
  for (const Finding& finding : machine.findings) messages.push_back(finding.message);
  return messages;
}

inline const Interface* find_interface(const Machine& machine, const std::string& name) {
  const auto found = std::ranges::find(machine.interfaces, name, &Interface::name);
  return found == machine.interfaces.end() ? nullptr : &*found;
}

}  // namespace lockstep::topology::test
