#include "collectives/rendezvous/store_server.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "collectives/rendezvous/authentication.h"

namespace lockstep::collectives::rendezvous {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kPauseAfterFailedAccept(100);

StoreTime now() {
  return std::chrono::duration_cast<StoreTime>(std::chrono::steady_clock::now().time_since_epoch());
}

// Workers that are forked meanwhile must not keep connections open.
void close_on_exec(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

}  // namespace

// Its handlers keep it alive; after close() they do nothing.
class StoreServer::Service : public std::enable_shared_from_this<Service> {
 public:
  Service(StoreServerOptions options, asio::io_context& context)
      : context_(context),
        acceptor_(context),
        timer_(context),
        store_(options.store),
        on_rank_end_(std::move(options.on_rank_end)) {
    const std::string where = fmt::format("{}:{}", options.address, options.port);
    error_code error;
    const auto check = [&](const char* call) {
      if (!error) return;
      throw std::system_error(error.value(), std::system_category(),
                              fmt::format("the store cannot listen on {}: {}", where, call));
    };
    const auto address = asio::ip::make_address(options.address, error);
    check("not a numeric address");
    const tcp::endpoint endpoint(address, options.port);
    acceptor_.open(endpoint.protocol(), error);
    check("socket");
    close_on_exec(acceptor_.native_handle());
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    check("setsockopt");
    acceptor_.bind(endpoint, error);
    check("bind");
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    check("listen");
    const auto bound = acceptor_.local_endpoint(error);
    check("getsockname");
    address_ = bound.address().is_v6()
                   ? fmt::format("[{}]:{}", bound.address().to_string(), bound.port())
                   : fmt::format("{}:{}", bound.address().to_string(), bound.port());
  }

  [[nodiscard]] const std::string& address() const { return address_; }

  void accept() {
    acceptor_.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
      if (self->closed_) return;
      if (error) return self->accept_later();
      self->open(std::move(socket));
      self->accept();
    });
  }

  void abort(std::string reason) {
    asio::post(context_, [self = shared_from_this(), reason = std::move(reason)] {
      if (!self->closed_) self->perform(self->store_.abort(reason));
    });
  }

  void close() {
    closed_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
    for (auto& [id, connection] : connections_) connection->socket.close(ignored);
    connections_.clear();
  }

 private:
  struct Connection {
    explicit Connection(tcp::socket s) : socket(std::move(s)) {}
    tcp::socket socket;
    std::array<std::byte, 16384> incoming;
    std::deque<Bytes> outgoing;  // the first is being written
    bool closing = false;        // when outgoing has been written
  };
  using ConnectionPtr = std::shared_ptr<Connection>;

  // Out of descriptors, mostly: it passes when a connection ends.
  void accept_later() {
    auto pause = std::make_shared<asio::steady_timer>(context_, kPauseAfterFailedAccept);
    pause->async_wait([self = shared_from_this(), pause](error_code) {
      if (!self->closed_) self->accept();
    });
  }

  void open(tcp::socket socket) {
    close_on_exec(socket.native_handle());
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const ConnectionId id = ++last_id_;
    auto connection = std::make_shared<Connection>(std::move(socket));
    connections_[id] = connection;
    read(id, connection);
    perform(store_.opened(id, random_nonce(), now()));
  }

  void read(ConnectionId id, const ConnectionPtr& connection) {
    connection->socket.async_read_some(
        asio::buffer(connection->incoming),
        [self = shared_from_this(), id, connection](error_code error, std::size_t n) {
          if (self->closed_ || connection->closing) return;
          if (error) {
            self->connections_.erase(id);
            return self->perform(self->store_.closed(id, now()));
          }
          const std::span<const std::byte> bytes(connection->incoming.data(), n);
          self->perform(self->store_.received(id, bytes, now()));
          if (!connection->closing) self->read(id, connection);
        });
  }

  void perform(const StoreActions& actions) {
    for (const StoreAction& action : actions) {
      if (const auto* send = std::get_if<SendBytes>(&action)) {
        enqueue(send->connection, send->bytes);
      } else if (const auto* close = std::get_if<CloseConnection>(&action)) {
        finish(close->connection);
      } else if (on_rank_end_) {
        on_rank_end_(std::get<RankEnded>(action));
      }
    }
    set_timer();
  }

  void enqueue(ConnectionId id, const Bytes& bytes) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    found->second->outgoing.push_back(bytes);
    if (found->second->outgoing.size() == 1) write(found->second);
  }

  void write(const ConnectionPtr& connection) {
    const auto written = [self = shared_from_this(), connection](error_code error, std::size_t) {
      if (self->closed_ || error) return;  // reading sees the end too, and reports it
      connection->outgoing.pop_front();
      if (!connection->outgoing.empty()) {
        self->write(connection);
      } else if (connection->closing) {
        shut(*connection);
      }
    };
    const Bytes& first = connection->outgoing.front();
    asio::async_write(connection->socket, asio::buffer(first), written);
  }

  void finish(ConnectionId id) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    const ConnectionPtr connection = found->second;
    connections_.erase(found);
    connection->closing = true;
    if (connection->outgoing.empty()) shut(*connection);
  }

  static void shut(Connection& connection) {
    error_code ignored;
    connection.socket.shutdown(tcp::socket::shutdown_both, ignored);
    connection.socket.close(ignored);
  }

  void set_timer() {
    const auto next = store_.next_deadline();
    if (!next) {
      timer_.cancel();
      timer_at_.reset();
      return;
    }
    if (timer_at_ == next) return;
    timer_at_ = next;
    timer_.expires_at(std::chrono::steady_clock::time_point(*next));
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (self->closed_ || error) return;
      self->timer_at_.reset();
      self->perform(self->store_.time_passed(now()));
    });
  }

  asio::io_context& context_;
  tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  std::optional<StoreTime> timer_at_;
  Store store_;
  std::function<void(const RankEnded&)> on_rank_end_;
  std::string address_;
  std::map<ConnectionId, ConnectionPtr> connections_;
  ConnectionId last_id_ = 0;
  bool closed_ = false;
};

class StoreServer::Thread {
 public:
  asio::io_context& context() { return context_; }
  void start() {
    thread_ = std::thread([this] { context_.run(); });
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  asio::io_context context_{1};
  std::thread thread_;
};

StoreServer::StoreServer(StoreServerOptions options) : thread_(std::make_unique<Thread>()) {
  service_ = std::make_shared<Service>(std::move(options), thread_->context());
  service_->accept();
  thread_->start();
}

StoreServer::StoreServer(StoreServerOptions options, asio::io_context& context)
    : service_(std::make_shared<Service>(std::move(options), context)) {
  service_->accept();
}

StoreServer::~StoreServer() {
  if (!thread_) {
    service_->close();
    return;
  }
  asio::post(thread_->context(), [service = service_] { service->close(); });
  thread_->join();
  service_.reset();  // before the context that its sockets belong to
}

std::string StoreServer::address() const {
  return service_->address();
}

void StoreServer::abort(std::string_view reason) {
  service_->abort(std::string(reason));
}

}  // namespace lockstep::collectives::rendezvous
