// Which network interface NCCL takes to find its peers, and which it should.
//
// NCCL takes the interfaces named ib*, else all but docker*, lo and virbr*; of those the first that
// runs and has an address, IPv4 before IPv6. Thread rule: pure functions of values. Source: NCCL's
// findInterfaces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

// Positions in machine.interfaces of those NCCL would take by itself, the bootstrap's first.
[[nodiscard]] std::vector<int> default_interfaces(const Machine& machine);

// An interface of containers, virtual machines or tunnels: other hosts do not reach its address.
[[nodiscard]] bool is_virtual(const Machine& machine, const Interface& interface);

// A network of two addresses (/30, /31, IPv6 /126, /127): the other one is a switch, and other
// hosts are reached only where that routes.
[[nodiscard]] bool is_point_to_point(const Interface& interface);

// Has an address that other hosts could reach: not link-local, not loopback.
[[nodiscard]] bool has_routable_address(const Interface& interface);

// The interface other hosts most likely reach: up, with a routable address, neither virtual nor
// part of a bond; a network of many before a link of two, then a bond, then the order of the
// list. Nothing where no interface is known to be fit.
[[nodiscard]] std::optional<int> reachable_interface(const Machine& machine);

}  // namespace lockstep::topology
