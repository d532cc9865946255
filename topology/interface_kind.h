// What kind of network interface a name suggests.
//
// For recordings that give names only. Names are a convention of distributions, container engines
// and cluster networks, not a fact: a kind that the system itself states wins over this one. Thread
// rule: a pure function.
#pragma once

#include <string_view>

#include "topology/devices.h"

namespace lockstep::topology {

// `name` as the system has it ("enp1s0f0", "bond0.100"), or as `ip` prints it, with what it sits on
// ("bond0.100@bond0"). `unknown` where the name follows no convention, and for what has the name of
// an adapter but is a link into another network namespace ("eth0@if7" in a container). Interfaces
// whose addresses never leave the host ("dummy0", "kube-ipvs0") are `loopback`.
[[nodiscard]] InterfaceKind kind_of_interface_name(std::string_view name);

}  // namespace lockstep::topology
