// The store where the ranks of a job meet, as a state machine: an event in, actions out. It has no
// socket, clock or thread; StoreServer gives it those, a test does without.
//
// A rank proves that it knows the job's secret, joins, and then sets and gets values and meets the
// others at barriers. One that goes without leaving is dead: all others are told its name, now and
// in every later call.
//
// Thread rule: one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collectives/rendezvous/frame.h"
#include "collectives/rendezvous/message.h"
#include "collectives/rendezvous/secret.h"

namespace lockstep::collectives::rendezvous {

using ConnectionId = std::uint64_t;
using StoreTime = std::chrono::milliseconds;  // since any fixed moment; never goes back

struct StoreOptions {
  int world = 1;
  std::uint64_t generation = 0;  // of the attempt: ranks of an earlier one are refused
  Secret secret{};
  StoreTime time_to_join{10'000};  // from the opening of a connection; then it is closed
  std::size_t strangers =
      256;  // connections beyond the world's that may be open without having joined
};

// What the driver is to do, in this order.
struct SendBytes {
  ConnectionId connection = 0;
  Bytes bytes;
};
struct CloseConnection {  // after everything before has been sent; closed() need not be called for
                          // it
  ConnectionId connection = 0;
};
enum class RankEnd { left, died, aborted };
struct RankEnded {  // for the store's owner
  int rank = 0;
  RankEnd end = RankEnd::left;
  std::string host;
  std::uint64_t pid = 0;
  std::string reason;
};
using StoreAction = std::variant<SendBytes, CloseConnection, RankEnded>;
using StoreActions = std::vector<StoreAction>;

class Store {
 public:
  explicit Store(StoreOptions options);

  // `nonce`: 32 bytes that were never used before.
  [[nodiscard]] StoreActions opened(ConnectionId connection, const Nonce& nonce, StoreTime now);
  [[nodiscard]] StoreActions received(ConnectionId connection, std::span<const std::byte> bytes,
                                      StoreTime now);
  [[nodiscard]] StoreActions closed(ConnectionId connection, StoreTime now);
  [[nodiscard]] StoreActions time_passed(StoreTime now);

  // The owner ends the job. The first reason stays.
  [[nodiscard]] StoreActions abort(std::string_view reason);

  // When time_passed must be called next; nothing waits for time otherwise.
  [[nodiscard]] std::optional<StoreTime> next_deadline() const;

 private:
  enum class Stage { hello, proof, join, joined };
  struct Connection {
    Stage stage = Stage::hello;
    FrameParser parser;
    Nonce of_store{};
    Nonce of_rank{};
    StoreTime opened{};
    int rank = -1;
  };
  enum class Presence { expected, joined, left, dead };
  struct Member {
    Presence presence = Presence::expected;
    ConnectionId connection = 0;
    std::string host;
    std::uint64_t pid = 0;
  };
  enum class WaitKind { get, barrier };
  struct Wait {
    WaitKind kind = WaitKind::get;
    std::string name;
    int rank = 0;
    RequestId request = 0;
    StoreTime since{};
    StoreTime deadline{};
  };

  void handle(ConnectionId id, Connection& connection, const Message& message);
  void on(ConnectionId id, Connection& connection, const Hello& hello);
  void on(ConnectionId id, Connection& connection, const Proof& proof);
  void on(ConnectionId id, Connection& connection, const Join& join);
  void on(ConnectionId id, Connection& connection, const Set& set);
  void on(ConnectionId id, Connection& connection, const Get& get);
  void on(ConnectionId id, Connection& connection, const Barrier& barrier);
  void on(ConnectionId id, Connection& connection, const Leave& leave);
  void on(ConnectionId id, Connection& connection, const Abort& abort);

  [[nodiscard]] std::string refusal_of(const Join& join) const;
  [[nodiscard]] std::string leaver() const;
  void end_barrier_if_complete(const std::string& name);
  void fail(const Wait& wait, const std::string& reason);
  [[nodiscard]] std::string overdue(const Wait& wait) const;
  void limit_strangers();

  void drop(ConnectionId id, std::string_view why);
  void die(int rank, std::string_view why);
  void abort_all(int culprit, const std::string& reason);
  void send(ConnectionId id, const Message& message);
  void answer(int rank, const Message& message);

  [[nodiscard]] Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::string name_of(int rank) const;
  [[nodiscard]] std::string names_where(
      const std::function<bool(int, const Member&)>& condition) const;
  [[nodiscard]] StoreActions take_actions();

  StoreOptions options_;
  StoreTime now_{};
  std::map<ConnectionId, Connection> connections_;
  std::vector<Member> members_;
  std::map<std::string, std::string> values_;
  std::vector<Wait> waits_;
  std::optional<Aborted> aborted_;
  StoreActions actions_;
};

}  // namespace lockstep::collectives::rendezvous
