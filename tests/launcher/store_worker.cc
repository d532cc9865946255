// A worker that meets the others in the store, with nothing but its environment.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include "collectives/rendezvous/store_client.h"

int main() {
  using namespace std::chrono_literals;
  using namespace lockstep::collectives::rendezvous;
  try {
    const auto options = store_options_from_environment();
    if (!options) return 3;
    StoreClient store(*options);
    store.set("from " + std::to_string(store.rank()), "here");
    const int next = (store.rank() + 1) % store.world();
    if (store.get("from " + std::to_string(next), 30s) != "here") return 4;
    store.barrier("end", 30s);
    store.leave();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
