// The store on a socket. The launcher holds one for each attempt of a job; tests hold one
// in-process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/rendezvous/store.h"
#include "engine/device/visibility.h"

namespace boost::asio {
class io_context;
}

namespace lockstep::collectives::rendezvous {

struct StoreServerOptions {
  StoreOptions store{};
  std::string address = "127.0.0.1";  // numeric, IPv4 or IPv6, to listen on
  std::uint16_t port = 0;             // 0: chosen by the system
  // Called on the server's thread when a rank has left, died or aborted; must not throw or destroy
  // the server.
  std::function<void(const RankEnded&)> on_rank_end{};
};

// Thread rule: address() and abort() by any thread.
class LOCKSTEP_API StoreServer {
 public:
  // Listens, and serves from a thread of its own. Errors: std::system_error naming the address.
  explicit StoreServer(StoreServerOptions options);
  // The same, served by whoever runs `context`, in one thread. The server must be destroyed by that
  // thread or while nobody runs the context, and before the context.
  StoreServer(StoreServerOptions options, boost::asio::io_context& context);
  // Closes all connections: to ranks that have not left, the store is then lost.
  ~StoreServer();

  // "127.0.0.1:41234" or "[::1]:41234", what a StoreClient takes.
  [[nodiscard]] std::string address() const;

  // Tells all ranks, present and to come, that the job is over. The first reason stays.
  void abort(std::string_view reason);

 private:
  class Service;
  class Thread;
  std::unique_ptr<Thread> thread_;  // none where the context is the caller's
  std::shared_ptr<Service> service_;
};

}  // namespace lockstep::collectives::rendezvous
