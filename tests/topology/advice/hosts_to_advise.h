// Machines with their path tables, for tests of advice: the tables are written by hand, as a matrix
// of a known host reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/advice/advice.h"
#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology::test {

struct Host {
  Machine machine;
  PathTable paths;
};

// tests/topology/machines.h, with GPU i PIX to NIC i, NODE within a NUMA node, SYS beyond.
[[nodiscard]] Host hgx_h100_host();
[[nodiscard]] Host workstation_host();

// 8 GPUs in one NUMA node with RoCE rails out of order, mlx5_0, 1, 2, 5, 6, 7, 8, 11; mlx5_3 and
// mlx5_9 are ports of bond0, mlx5_4 and mlx5_10 are down. The rails' interfaces are links of two
// addresses. Kinds and states are known, rates are not.
[[nodiscard]] Host bonded_front_end();

// 4 GPUs and 8 RDMA adapters that are all PHB of each other, as a hypervisor's flat bus shows them.
[[nodiscard]] Host flat_virtual_machine();

// 2 GPUs of a larger host in a container that shows all 8 of its adapters: NIC6 and NIC7 are PXB,
// the others SYS.
[[nodiscard]] Host container_of_two_gpus();

// 4 GPUs and 4 NICs on a Grace host, SYS of each other.
[[nodiscard]] Host grace_tray();

// Two GPUs under a switch that claims 2.5 GT/s x1, with an InfiniBand adapter.
[[nodiscard]] Host slow_virtual_switch();

// RoCE host: GPUs 0 and 1 with mlx5_0 and mlx5_1, PIX, 200 Gb/s.
[[nodiscard]] Host small_roce();

// The setting of that variable, or null.
[[nodiscard]] const Advice* find(const HostAdvice& advice, std::string_view variable);

// The names of all variables to be set, those that are kept left out.
[[nodiscard]] std::vector<std::string> newly_set(const HostAdvice& advice);

[[nodiscard]] bool has_finding(const HostAdvice& advice, std::string_view code);

// The reason a variable is not set, or the empty text.
[[nodiscard]] std::string reason_unset(const HostAdvice& advice, std::string_view variable);

[[nodiscard]] HostAdvice advise_host(const Host& host, const AdviceOptions& options = {});

}  // namespace lockstep::topology::test
