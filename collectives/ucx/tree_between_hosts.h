// The step between hosts over UCX, along a fixed binary tree: sums go up, what the root has comes
// down.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/host/between_hosts.h"
#include "collectives/host/channel.h"

namespace lockstep::collectives::rendezvous {
class StoreClient;
}

namespace lockstep::collectives::ucx {

struct TreeOptions {
  int host = 0;
  int hosts = 1;
  int world = 1;                             // ranks of all hosts
  std::vector<int> ranks;                    // those of this host, its first one first
  std::string name;                          // of the first, "rank 4 (node3)"
  rendezvous::StoreClient* store = nullptr;  // where hosts find each other; must outlive the tree
  std::string group;                         // begins the store's keys
  std::chrono::nanoseconds deadline{};       // for finding each other
  std::string interface;                     // "eth0"; empty: any
  std::shared_ptr<host::Interrupt> interrupt;
  // Told, from the thread that waits, whom it waits for and how much longer than others it may;
  // with an empty name that it does not.
  std::function<void(std::string_view who, std::chrono::milliseconds patience)> on_wait;
};

// Collective over hosts, made by the first rank of each. Cost of a call over H hosts and S bytes:
// 2*log2(H) steps; a host sends and receives at most 3*S. Only neighbours in a tree connect.
// Errors: CollectiveError or StoreError naming who is missing.
[[nodiscard]] std::unique_ptr<host::BetweenHosts> make_tree_between_hosts(TreeOptions options);

}  // namespace lockstep::collectives::ucx
