// The part of the store that knows who is there, and what happens when somebody goes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "collectives/rendezvous/store.h"

namespace lockstep::collectives::rendezvous {

std::string Store::name_of(int rank) const {
  const Member& member = members_[static_cast<std::size_t>(rank)];
  if (member.presence == Presence::expected) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (pid {} on {})", rank, member.pid, member.host);
}

std::string Store::names_where(const std::function<bool(int, const Member&)>& condition) const {
  constexpr std::size_t kNamed = 16;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (int rank = 0; rank < options_.world; ++rank) {
    if (!condition(rank, members_[static_cast<std::size_t>(rank)])) continue;
    if (names.size() < kNamed) {
      names.push_back(name_of(rank));
    } else {
      ++more;
    }
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (more != 0) text += fmt::format(" and {} more", more);
  return text;
}

std::string Store::leaver() const {
  return names_where([](int, const Member& member) { return member.presence == Presence::left; });
}

void Store::drop(ConnectionId id, std::string_view why) {
  const auto found = connections_.find(id);
  const int rank = found->second.rank;
  connections_.erase(found);
  actions_.emplace_back(CloseConnection{id});
  if (rank >= 0) die(rank, why);
}

void Store::die(int rank, std::string_view why) {
  member(rank).presence = Presence::dead;
  const std::string reason = fmt::format("{} died: {}", name_of(rank), why);
  actions_.emplace_back(
      RankEnded{rank, RankEnd::died, member(rank).host, member(rank).pid, reason});
  abort_all(rank, reason);
}

void Store::abort_all(int culprit, const std::string& reason) {
  if (aborted_) return;
  aborted_ = Aborted{culprit, reason};
  waits_.clear();  // the abort is their answer
  for (int rank = 0; rank < options_.world; ++rank) {
    if (rank != culprit) answer(rank, *aborted_);
  }
}

void Store::answer(int rank, const Message& message) {
  if (member(rank).presence == Presence::joined) send(member(rank).connection, message);
}

void Store::send(ConnectionId id, const Message& message) {
  actions_.emplace_back(SendBytes{id, encode(message)});
}

StoreActions Store::take_actions() {
  return std::exchange(actions_, {});
}

}  // namespace lockstep::collectives::rendezvous
