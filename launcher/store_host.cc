#include "launcher/store_host.h"

#include <utility>

#include "collectives/rendezvous/secret.h"
#include "collectives/rendezvous/store_server.h"

namespace lockstep::launcher {

namespace rendezvous = collectives::rendezvous;

StoreHost::StoreHost(std::uint32_t world, std::uint32_t generation) {
  rendezvous::StoreServerOptions options;
  options.store.world = static_cast<int>(world);
  options.store.generation = generation;
  options.store.secret = rendezvous::generate_secret();
  for (const std::byte byte : options.store.secret) secret_.push_back(static_cast<char>(byte));
  server_ = std::make_unique<rendezvous::StoreServer>(std::move(options));
  address_ = server_->address();
}

StoreHost::~StoreHost() = default;

}  // namespace lockstep::launcher
