// Hosts made of threads of the test: ranks meet over a real store, those of one host share memory,
// and hosts speak TCP over the loopback interface.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "collectives/host/host_communicator.h"
#include "collectives/rendezvous/secret.h"
#include "collectives/rendezvous/store_client.h"
#include "collectives/rendezvous/store_server.h"

namespace lockstep::collectives {

// Runs `body` on one thread a rank, hosts[h] ranks on host h, each with its communicator, and
// returns what each failed with ("" for nothing). A rank that fails aborts the others.
inline std::vector<std::string> errors_of_hosts(
    const std::vector<int>& hosts, const std::function<void(Communicator&)>& body,
    std::chrono::nanoseconds deadline = std::chrono::seconds(60)) {
  const int world = std::accumulate(hosts.begin(), hosts.end(), 0);
  rendezvous::StoreServerOptions store_options;
  store_options.store.world = world;
  store_options.store.secret = rendezvous::generate_secret();
  rendezvous::StoreServer server(store_options);
  std::vector<std::string> errors(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  const auto run_rank = [&](int rank, const HostPlace& place) {
    rendezvous::StoreClient store({.address = server.address(),
                                   .secret = store_options.store.secret,
                                   .rank = rank,
                                   .world = world,
                                   .host = "node" + std::to_string(place.host)});
    try {
      const auto communicator = host::make_host_communicator(
          {.rank = rank,
           .world = world,
           .place = place,
           .deadline = deadline,
           .store = &store,
           .name = "rank " + std::to_string(rank) + " (" + store.host() + ")",
           .interface = "lo"});
      body(*communicator);
      store.leave();
    } catch (const std::exception& error) {
      errors[static_cast<std::size_t>(rank)] = error.what();
      store.abort(error.what());
    }
  };
  int rank = 0;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    for (int local = 0; local < hosts[h]; ++local, ++rank) {
      const HostPlace place{static_cast<int>(h), static_cast<int>(hosts.size()), local, hosts[h]};
      threads.emplace_back([&run_rank, &errors, rank, place] {
        try {
          run_rank(rank, place);
        } catch (const std::exception& error) {  // of the store
          errors[static_cast<std::size_t>(rank)] += error.what();
        }
      });
    }
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

}  // namespace lockstep::collectives
