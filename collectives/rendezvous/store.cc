#include "collectives/rendezvous/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "collectives/rendezvous/authentication.h"

namespace lockstep::collectives::rendezvous {
namespace {

// Longer deadlines mean "for ever", and must not overflow when added to the time.
constexpr StoreTime kLongest = std::chrono::hours(24 * 365);

// What goes into messages to others is kept short, so that these fit into a frame.
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kLongestHost = 255;
constexpr std::size_t kLongestReason = 8192;

void check_name(const std::string& name) {
  if (name.size() > kLongestName) {
    throw ProtocolError(fmt::format("a name of {} bytes: at most {}", name.size(), kLongestName));
  }
}

}  // namespace

Store::Store(StoreOptions options)
    : options_(options), members_(static_cast<std::size_t>(options.world)) {}

StoreActions Store::opened(ConnectionId id, const Nonce& nonce, StoreTime now) {
  now_ = now;
  Connection& connection = connections_[id];
  connection.of_store = nonce;
  connection.opened = now;
  limit_strangers();
  return take_actions();
}

// Whoever opens connections and says nothing cannot use up the descriptors: the oldest of them
// goes.
void Store::limit_strangers() {
  const auto stranger = [](const auto& entry) { return entry.second.stage != Stage::joined; };
  const auto limit = options_.strangers + members_.size();
  if (connections_.size() <= limit) return;
  if (static_cast<std::size_t>(std::ranges::count_if(connections_, stranger)) <= limit) return;
  const auto oldest = std::ranges::find_if(connections_, stranger);
  drop(oldest->first, "too many connections");
}

StoreActions Store::received(ConnectionId id, std::span<const std::byte> bytes, StoreTime now) {
  now_ = now;
  const auto found = connections_.find(id);
  if (found == connections_.end()) return {};
  try {
    found->second.parser.append(bytes);
    // A message can end the connection, its own or another.
    while (connections_.contains(id)) {
      const auto frame = found->second.parser.next();
      if (!frame) break;
      handle(id, found->second, decode(*frame));
    }
  } catch (const ProtocolError& error) {
    drop(id, error.what());
  }
  return take_actions();
}

StoreActions Store::closed(ConnectionId id, StoreTime now) {
  now_ = now;
  const auto found = connections_.find(id);
  if (found == connections_.end()) return {};
  const int rank = found->second.rank;
  connections_.erase(found);
  if (rank >= 0) die(rank, "its connection to the store was closed");
  return take_actions();
}

StoreActions Store::time_passed(StoreTime now) {
  now_ = now;
  std::vector<ConnectionId> late;
  for (const auto& [id, connection] : connections_) {
    if (connection.stage != Stage::joined && now >= connection.opened + options_.time_to_join) {
      late.push_back(id);
    }
  }
  for (const ConnectionId id : late) drop(id, "it did not join in time");

  std::vector<Wait> overdue_waits;
  std::erase_if(waits_, [&](const Wait& wait) {
    if (now < wait.deadline) return false;
    overdue_waits.push_back(wait);
    return true;
  });
  // Those that are overdue together did arrive: they are put back while the texts are made.
  const std::size_t waiting = waits_.size();
  waits_.insert(waits_.end(), overdue_waits.begin(), overdue_waits.end());
  std::vector<std::string> reasons;
  reasons.reserve(overdue_waits.size());
  for (const Wait& wait : overdue_waits) reasons.push_back(overdue(wait));
  waits_.resize(waiting);
  for (std::size_t i = 0; i < overdue_waits.size(); ++i) fail(overdue_waits[i], reasons[i]);
  return take_actions();
}

StoreActions Store::abort(std::string_view reason) {
  abort_all(-1, std::string(reason.substr(0, kLongestReason)));
  return take_actions();
}

std::optional<StoreTime> Store::next_deadline() const {
  std::optional<StoreTime> next;
  const auto consider = [&next](StoreTime time) {
    if (!next || time < *next) next = time;
  };
  for (const auto& [id, connection] : connections_) {
    if (connection.stage != Stage::joined) consider(connection.opened + options_.time_to_join);
  }
  for (const Wait& wait : waits_) consider(wait.deadline);
  return next;
}

void Store::handle(ConnectionId id, Connection& connection, const Message& message) {
  std::visit(
      [&](const auto& m) {
        using M = std::remove_cvref_t<decltype(m)>;
        if constexpr (requires { on(id, connection, m); }) {
          Stage stage = Stage::joined;
          if constexpr (std::is_same_v<M, Hello>) stage = Stage::hello;
          if constexpr (std::is_same_v<M, Proof>) stage = Stage::proof;
          if constexpr (std::is_same_v<M, Join>) stage = Stage::join;
          // Who has left has no rank to answer to.
          const bool left = stage == Stage::joined && connection.rank < 0;
          if (connection.stage != stage || left) throw ProtocolError("a message out of turn");
          on(id, connection, m);
        } else {
          throw ProtocolError("a message that only the store sends");
        }
      },
      message);
}

void Store::on(ConnectionId id, Connection& connection, const Hello& hello) {
  connection.of_rank = hello.nonce;
  connection.stage = Stage::proof;
  send(id, Challenge{connection.of_store});
}

// The rank proves first, so that a stranger learns nothing.
void Store::on(ConnectionId id, Connection& connection, const Proof& proof) {
  const auto expected =
      proof_of(options_.secret, Role::rank, connection.of_rank, connection.of_store);
  if (!equal(proof.digest, expected)) return drop(id, "it does not know the job's secret");
  connection.stage = Stage::join;
  connection.parser.set_limit(kFrameLimit);
  send(id,
       Welcome{proof_of(options_.secret, Role::store, connection.of_rank, connection.of_store)});
}

std::string Store::refusal_of(const Join& join) const {
  if (aborted_) return aborted_->reason;
  if (join.generation != options_.generation) {
    return fmt::format("rank {} is of attempt {}, the store of attempt {}", join.rank,
                       join.generation, options_.generation);
  }
  if (join.world != options_.world) {
    return fmt::format("rank {} expects {} ranks, the store {}", join.rank, join.world,
                       options_.world);
  }
  if (join.rank < 0 || join.rank >= options_.world) {
    return fmt::format("rank {}: expected 0 to {}", join.rank, options_.world - 1);
  }
  if (members_[static_cast<std::size_t>(join.rank)].presence != Presence::expected) {
    return fmt::format("two processes are rank {}: {}, and pid {} on {}", join.rank,
                       name_of(join.rank), join.pid, join.host);
  }
  return {};
}

void Store::on(ConnectionId id, Connection& connection, const Join& join) {
  if (const std::string refusal = refusal_of(join); !refusal.empty()) {
    send(id, Failed{0, refusal});
    return drop(id, refusal);
  }
  connection.stage = Stage::joined;
  connection.rank = join.rank;
  member(join.rank) = {Presence::joined, id, join.host.substr(0, kLongestHost), join.pid};
  send(id, Joined{});
}

void Store::on(ConnectionId id, Connection&, const Set& set) {
  check_name(set.key);
  if (aborted_) return send(id, Failed{set.request, aborted_->reason});
  values_[set.key] = set.value;
  send(id, Done{set.request});
  std::erase_if(waits_, [&](const Wait& wait) {
    if (wait.kind != WaitKind::get || wait.name != set.key) return false;
    answer(wait.rank, Value{wait.request, set.value});
    return true;
  });
}

void Store::on(ConnectionId id, Connection& connection, const Get& get) {
  check_name(get.key);
  if (aborted_) return send(id, Failed{get.request, aborted_->reason});
  const auto found = values_.find(get.key);
  if (found != values_.end()) return send(id, Value{get.request, found->second});
  Wait wait{WaitKind::get, get.key, connection.rank, get.request, now_, now_};
  wait.deadline += std::clamp(get.deadline, StoreTime(0), kLongest);
  waits_.push_back(std::move(wait));
}

void Store::on(ConnectionId, Connection& connection, const Barrier& barrier) {
  check_name(barrier.name);
  Wait wait{WaitKind::barrier, barrier.name, connection.rank, barrier.request, now_, now_};
  wait.deadline += std::clamp(barrier.deadline, StoreTime(0), kLongest);
  if (aborted_) return fail(wait, aborted_->reason);
  if (const std::string gone = leaver(); !gone.empty()) {
    return fail(wait, fmt::format("barrier {}: {} has left", barrier.name, gone));
  }
  const bool twice = std::ranges::any_of(waits_, [&](const Wait& other) {
    return other.kind == WaitKind::barrier && other.name == wait.name && other.rank == wait.rank;
  });
  if (twice) {
    return fail(wait, fmt::format("barrier {}: {} is already waiting in it", wait.name,
                                  name_of(wait.rank)));
  }
  waits_.push_back(std::move(wait));
  end_barrier_if_complete(barrier.name);
}

void Store::end_barrier_if_complete(const std::string& name) {
  const auto of_barrier = [&](const Wait& wait) {
    return wait.kind == WaitKind::barrier && wait.name == name;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(waits_, of_barrier)) < members_.size()) return;
  std::erase_if(waits_, [&](const Wait& wait) {
    if (!of_barrier(wait)) return false;
    answer(wait.rank, Done{wait.request});
    return true;
  });
}

// A barrier can no longer be completed when a rank has left, so those in one are told at once.
void Store::on(ConnectionId id, Connection& connection, const Leave& leave) {
  const int rank = connection.rank;
  member(rank).presence = Presence::left;
  connection.rank = -1;  // so that the end of the connection is not a death
  send(id, Done{leave.request});
  drop(id, "it has left");
  actions_.emplace_back(
      RankEnded{rank, RankEnd::left, member(rank).host, member(rank).pid, "it has left"});
  std::erase_if(waits_, [&](const Wait& wait) {
    if (wait.rank == rank) return true;
    if (wait.kind != WaitKind::barrier) return false;
    fail(wait, fmt::format("barrier {}: {} has left", wait.name, name_of(rank)));
    return true;
  });
}

void Store::on(ConnectionId, Connection& connection, const Abort& abort) {
  const int rank = connection.rank;
  const std::string reason = abort.reason.substr(0, kLongestReason);
  actions_.emplace_back(
      RankEnded{rank, RankEnd::aborted, member(rank).host, member(rank).pid, reason});
  abort_all(rank, reason);
}

void Store::fail(const Wait& wait, const std::string& reason) {
  answer(wait.rank, Failed{wait.request, reason});
}

std::string Store::overdue(const Wait& wait) const {
  const double waited = std::chrono::duration<double>(now_ - wait.since).count();
  const std::string absent =
      names_where([](int, const Member& member) { return member.presence == Presence::expected; });
  if (wait.kind == WaitKind::get) {
    return fmt::format("nobody has set {} within {:.3g} s; {}", wait.name, waited,
                       absent.empty() ? "all ranks have joined" : absent + " never joined");
  }
  const std::string missing = names_where([&](int rank, const Member& member) {
    return member.presence != Presence::expected &&
           std::ranges::none_of(waits_, [&](const Wait& other) {
             return other.kind == WaitKind::barrier && other.name == wait.name &&
                    other.rank == rank;
           });
  });
  std::string text =
      fmt::format("barrier {} was not reached by all within {:.3g} s:", wait.name, waited);
  if (!missing.empty()) text += fmt::format(" {} did not come to it", missing);
  if (!missing.empty() && !absent.empty()) text += ";";
  if (!absent.empty()) text += fmt::format(" {} never joined", absent);
  return text;
}

}  // namespace lockstep::collectives::rendezvous
