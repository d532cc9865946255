#include "collectives/rendezvous/store_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/rendezvous/authentication.h"
#include "collectives/rendezvous/rank_side.h"

namespace lockstep::collectives::rendezvous {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

// How much later than the deadline the store's own answer, which names the missing, may come.
constexpr milliseconds kGrace(2000);

std::string this_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

std::pair<std::string, std::string> split(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    throw StoreError(fmt::format("the store's address is {}: expected HOST:PORT", address));
  }
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

}  // namespace

// The socket and RankSide belong to the io thread; what it and the callers share lies under the
// mutex.
class StoreClient::Connection {
 public:
  explicit Connection(StoreClientOptions options)
      : options_(std::move(options)), side_(identity(options_), random_nonce()), socket_(context_) {
    if (options_.host.empty()) options_.host = this_host();
    const auto [host, port] = split(options_.address);
    error_code error;
    for (const auto& entry : tcp::resolver(context_).resolve(host, port, error)) {
      endpoints_.push_back(entry.endpoint());
    }
    if (endpoints_.empty()) {
      throw StoreError(
          fmt::format("the store's host {} cannot be found: {}", host, error.message()));
    }
    asio::post(context_, [this] { connect(); });
    thread_ = std::thread([this] { context_.run(); });
    try {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, options_.answer_time, [&] { return joined_ || !reason_.empty(); });
      if (!reason_.empty()) throw StoreError(reason_);
      if (!joined_) {
        throw StoreError(fmt::format("the store at {} did not answer within {:.3g} s",
                                     options_.address, seconds(options_.answer_time)));
      }
    } catch (...) {
      end();
      throw;
    }
  }

  ~Connection() { end(); }

  [[nodiscard]] const StoreClientOptions& options() const { return options_; }

  // Sends a request and waits for its answer. `make` gives the message for the request's number.
  template <class Make>
  std::string ask(milliseconds deadline, Make make) {
    std::unique_lock lock(mutex_);
    throw_if_over();
    const RequestId id = ++last_request_;
    answers_[id] = std::nullopt;
    send(encode(make(id)));
    changed_.wait_for(lock, deadline + kGrace,
                      [&] { return answers_[id].has_value() || !reason_.empty(); });
    const std::optional<Answer> answer = std::move(answers_[id]);
    answers_.erase(id);
    if (answer && answer->failed) throw StoreError(answer->text);
    if (answer) return answer->text;
    throw_if_over();
    throw StoreError(fmt::format("the store at {} did not answer within {:.3g} s: is it stopped?",
                                 options_.address, seconds(deadline + kGrace)));
  }

  void leave() {
    {
      const std::lock_guard lock(mutex_);
      callbacks_.clear();
    }
    ask(options_.answer_time, [](RequestId id) { return Leave{id}; });
    const std::lock_guard lock(mutex_);
    left_ = true;
  }

  void abort(std::string_view reason) {
    const std::lock_guard lock(mutex_);
    if (left_ || !reason_.empty()) return;
    send(encode(Abort{std::string(reason.substr(0, 4096))}));
  }

  void on_abort(std::function<void(std::string_view)> callback) {
    std::string reason;
    {
      const std::lock_guard lock(mutex_);
      if (reason_.empty()) return callbacks_.push_back(std::move(callback));
      reason = reason_;
    }
    callback(reason);
  }

 private:
  struct Answer {
    bool failed = false;
    std::string text;
  };

  static double seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

  static RankSide::Identity identity(const StoreClientOptions& options) {
    return {
        options.secret,
        {options.rank, options.world, options.generation, static_cast<std::uint64_t>(::getpid()),
         options.host.empty() ? this_host() : options.host}};
  }

  void throw_if_over() const {
    if (left_) throw StoreError(fmt::format("rank {} has left the store", options_.rank));
    if (!reason_.empty()) throw StoreError(reason_);
  }

  // From here on: the io thread, but for send() and end().

  void connect() {
    if (endpoints_.empty()) {
      return lose(fmt::format("no store at {}: {}; has the launcher ended?", options_.address,
                              last_error_));
    }
    const tcp::endpoint endpoint = endpoints_.front();
    endpoints_.pop_front();
    // Not left to Asio, which would let processes that are started meanwhile inherit the
    // connection: it would then not end with this process.
    const int number =
        ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    error_code error;
    if (number < 0) {
      error.assign(errno, boost::system::system_category());
    } else {
      socket_.assign(endpoint.protocol(), number, error);
    }
    if (error) return lose(fmt::format("no socket for the store: {}", error.message()));
    socket_.async_connect(endpoint, [this](error_code failure) {
      if (failure) {
        last_error_ = failure.message();
        error_code ignored;
        socket_.close(ignored);
        return connect();
      }
      error_code ignored;
      socket_.set_option(tcp::no_delay(true), ignored);
      enqueue(side_.begin());
      read();
    });
  }

  void read() {
    socket_.async_read_some(asio::buffer(incoming_), [this](error_code error, std::size_t n) {
      if (error) return lose(reason_of_end());
      try {
        auto received = side_.received({incoming_.data(), n});
        if (!received.reply.empty()) enqueue(std::move(received.reply));
        for (Message& message : received.messages) handle(message);
      } catch (const std::exception& failure) {
        return lose(
            fmt::format("the store at {} is not ours: {}", options_.address, failure.what()));
      }
      read();
    });
  }

  std::string reason_of_end() const {
    if (side_.authenticated()) {
      return fmt::format("the store at {} was lost: the launcher has ended", options_.address);
    }
    return fmt::format(
        "the store at {} refused rank {}: it has another secret; was this worker started by the "
        "same launcher?",
        options_.address, options_.rank);
  }

  void handle(Message& message) {
    if (auto* aborted = std::get_if<Aborted>(&message)) return lose(aborted->reason);
    const std::lock_guard lock(mutex_);
    const auto answer = [this](RequestId id, bool failed, std::string text) {
      const auto found = answers_.find(id);
      if (found != answers_.end()) found->second = Answer{failed, std::move(text)};
    };
    if (std::holds_alternative<Joined>(message)) {
      joined_ = true;
    } else if (auto* done = std::get_if<Done>(&message)) {
      answer(done->request, false, {});
    } else if (auto* value = std::get_if<Value>(&message)) {
      answer(value->request, false, std::move(value->value));
    } else if (auto* failed = std::get_if<Failed>(&message)) {
      if (failed->request == 0)
        reason_ = std::move(failed->reason);
      else
        answer(failed->request, true, std::move(failed->reason));
    }
    changed_.notify_all();
  }

  // The job is over, as far as this rank can know.
  void lose(const std::string& reason) {
    std::vector<std::function<void(std::string_view)>> callbacks;
    {
      const std::lock_guard lock(mutex_);
      if (left_ || !reason_.empty()) return;
      reason_ = reason;
      callbacks.swap(callbacks_);
      changed_.notify_all();
    }
    for (const auto& callback : callbacks) callback(reason);
  }

  void send(Bytes bytes) {
    asio::post(context_, [this, bytes = std::move(bytes)]() mutable { enqueue(std::move(bytes)); });
  }

  void enqueue(Bytes bytes) {
    outgoing_.push_back(std::move(bytes));
    if (outgoing_.size() == 1) write();
  }

  void write() {
    asio::async_write(socket_, asio::buffer(outgoing_.front()),
                      [this](error_code error, std::size_t) {
                        if (error) return;  // reading sees the end too, and reports it
                        outgoing_.pop_front();
                        if (!outgoing_.empty()) write();
                      });
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      callbacks_.clear();
    }
    asio::post(context_, [this] {
      error_code ignored;
      socket_.close(ignored);
      work_.reset();
      context_.stop();
    });
    if (thread_.joinable()) thread_.join();
  }

  StoreClientOptions options_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  RankSide side_;
  tcp::socket socket_;
  std::deque<tcp::endpoint> endpoints_;
  std::string last_error_;
  std::array<std::byte, 16384> incoming_{};
  std::deque<Bytes> outgoing_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool joined_ = false;
  bool left_ = false;
  std::string reason_;  // why the job is over; empty while it is not
  RequestId last_request_ = 0;
  std::map<RequestId, std::optional<Answer>> answers_;
  std::vector<std::function<void(std::string_view)>> callbacks_;

  std::thread thread_;
};

StoreClient::StoreClient(StoreClientOptions options)
    : connection_(std::make_unique<Connection>(std::move(options))) {}
StoreClient::~StoreClient() = default;

int StoreClient::rank() const {
  return connection_->options().rank;
}
int StoreClient::world() const {
  return connection_->options().world;
}
const std::string& StoreClient::host() const {
  return connection_->options().host;
}

void StoreClient::set(std::string_view key, std::string_view value) {
  connection_->ask(connection_->options().answer_time, [&](RequestId id) {
    return Set{id, std::string(key), std::string(value)};
  });
}

std::string StoreClient::get(std::string_view key, milliseconds deadline) {
  return connection_->ask(deadline, [&](RequestId id) {
    return Get{id, std::string(key), deadline};
  });
}

void StoreClient::barrier(std::string_view name, milliseconds deadline) {
  connection_->ask(deadline, [&](RequestId id) {
    return Barrier{id, std::string(name), deadline};
  });
}

void StoreClient::leave() {
  connection_->leave();
}
void StoreClient::abort(std::string_view reason) {
  connection_->abort(reason);
}
void StoreClient::on_abort(std::function<void(std::string_view)> callback) {
  connection_->on_abort(std::move(callback));
}

}  // namespace lockstep::collectives::rendezvous
