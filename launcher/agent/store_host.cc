#include "launcher/agent/store_host.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

#include "collectives/rendezvous/secret.h"
#include "collectives/rendezvous/store_server.h"

namespace lockstep::launcher {

namespace rendezvous = collectives::rendezvous;

StoreHost::StoreHost(const Prepare& prepare) {
  rendezvous::StoreServerOptions options;
  options.address = prepare.address;
  options.store.world = static_cast<int>(prepare.world);
  options.store.generation = prepare.generation;
  if (prepare.secret.size() != options.store.secret.size()) {
    throw std::runtime_error(fmt::format("the job's secret has {} bytes where {} are expected",
                                         prepare.secret.size(), options.store.secret.size()));
  }
  for (std::size_t i = 0; i < prepare.secret.size(); ++i) {
    options.store.secret[i] = static_cast<std::byte>(prepare.secret[i]);
  }
  server_ = std::make_unique<rendezvous::StoreServer>(std::move(options));
  const std::string address = server_->address();
  const char* port = address.data() + address.rfind(':') + 1;
  std::from_chars(port, address.data() + address.size(), store_port_);
}

StoreHost::~StoreHost() = default;

}  // namespace lockstep::launcher
