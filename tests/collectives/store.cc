// The store's state machine, with no socket and no clock: its ranks are RankSides, wired by hand.
#include "collectives/rendezvous/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "collectives/rendezvous/authentication.h"
#include "collectives/rendezvous/rank_side.h"

namespace lockstep::collectives::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Nonce nonce(std::uint8_t first) {
  Nonce nonce{};
  nonce[0] = std::byte{first};
  return nonce;
}

std::string text_of(const Message& message) {
  if (std::holds_alternative<Joined>(message)) return "joined";
  if (const auto* done = std::get_if<Done>(&message))
    return "done " + std::to_string(done->request);
  if (const auto* value = std::get_if<Value>(&message)) {
    return "value " + std::to_string(value->request) + " " + value->value;
  }
  if (const auto* failed = std::get_if<Failed>(&message)) {
    return "failed " + std::to_string(failed->request) + " " + failed->reason;
  }
  if (const auto* aborted = std::get_if<Aborted>(&message)) {
    return "aborted by " + std::to_string(aborted->rank) + ": " + aborted->reason;
  }
  return "another message";
}

class StoreTest : public testing::Test {
 protected:
  static constexpr int kWorld = 3;

  StoreTest() : store_(options()) {}

  static StoreOptions options() {
    StoreOptions options;
    options.world = kWorld;
    options.generation = 2;
    options.secret = nonce(42);
    options.strangers = 5;
    return options;
  }

  static RankSide::Identity identity(int rank) {
    return {
        nonce(42),
        {rank, kWorld, 2, 100 + static_cast<std::uint64_t>(rank), "node" + std::to_string(rank)}};
  }

  // A rank's side of a new connection, which has the rank as its number.
  void open(ConnectionId id, const RankSide::Identity& identity) {
    sides_.emplace(id, RankSide(identity, nonce(static_cast<std::uint8_t>(id))));
    perform(store_.opened(id, nonce(static_cast<std::uint8_t>(100 + id)), now_));
    deliver(id, sides_.at(id).begin());
  }
  void join_all() {
    for (int rank = 0; rank < kWorld; ++rank) {
      open(static_cast<ConnectionId>(rank), identity(rank));
      EXPECT_THAT(told(static_cast<ConnectionId>(rank)), ElementsAre("joined"));
    }
  }

  void deliver(ConnectionId id, const Bytes& bytes) { perform(store_.received(id, bytes, now_)); }
  void ask(ConnectionId id, const Message& message) { deliver(id, encode(message)); }
  void close(ConnectionId id) { perform(store_.closed(id, now_)); }
  void pass(milliseconds time) {
    now_ += time;
    perform(store_.time_passed(now_));
  }

  void perform(const StoreActions& actions) {
    for (const StoreAction& action : actions) {
      if (const auto* send = std::get_if<SendBytes>(&action)) {
        const auto side = sides_.find(send->connection);
        if (side == sides_.end()) continue;
        const auto received = side->second.received(send->bytes);
        for (const Message& message : received.messages) {
          told_[send->connection].push_back(text_of(message));
        }
        if (!received.reply.empty()) deliver(send->connection, received.reply);
      } else if (const auto* closed = std::get_if<CloseConnection>(&action)) {
        closed_.push_back(closed->connection);
      } else {
        ended_.push_back(std::get<RankEnded>(action));
      }
    }
  }

  std::vector<std::string> told(ConnectionId id) { return std::exchange(told_[id], {}); }

  Store store_;
  StoreTime now_{1'000'000};
  std::map<ConnectionId, RankSide> sides_;
  std::map<ConnectionId, std::vector<std::string>> told_;
  std::vector<ConnectionId> closed_;
  std::vector<RankEnded> ended_;
};

TEST_F(StoreTest, AValueIsGivenToThoseWhoAskBeforeAndAfter) {
  join_all();
  ask(1, Get{1, "color", seconds(5)});
  EXPECT_THAT(told(1), IsEmpty());
  ask(0, Set{1, "color", "red"});
  EXPECT_THAT(told(0), ElementsAre("done 1"));
  EXPECT_THAT(told(1), ElementsAre("value 1 red"));
  ask(2, Get{7, "color", seconds(5)});
  EXPECT_THAT(told(2), ElementsAre("value 7 red"));
}

TEST_F(StoreTest, AGetThatWaitsTooLongSaysWhoNeverJoined) {
  open(0, identity(0));
  told(0);
  ask(0, Get{1, "color", seconds(5)});
  pass(milliseconds(4999));
  EXPECT_THAT(told(0), IsEmpty());
  EXPECT_EQ(store_.next_deadline(), now_ + milliseconds(1));
  pass(milliseconds(1));
  EXPECT_THAT(told(0),
              ElementsAre("failed 1 nobody has set color within 5 s; rank 1, rank 2 never joined"));
}

TEST_F(StoreTest, ABarrierEndsWhenAllHaveCome) {
  join_all();
  ask(0, Barrier{1, "start", seconds(5)});
  ask(2, Barrier{1, "start", seconds(5)});
  EXPECT_THAT(told(0), IsEmpty());
  ask(1, Barrier{9, "start", seconds(5)});
  EXPECT_THAT(told(0), ElementsAre("done 1"));
  EXPECT_THAT(told(1), ElementsAre("done 9"));
  EXPECT_THAT(told(2), ElementsAre("done 1"));
  EXPECT_EQ(store_.next_deadline(), std::nullopt);
  // The name can be used again, and means a new barrier.
  ask(0, Barrier{2, "start", seconds(5)});
  EXPECT_THAT(told(0), IsEmpty());
}

TEST_F(StoreTest, MissingRanksAreNamed) {
  open(0, identity(0));
  open(1, identity(1));
  told(0);
  ask(0, Barrier{1, "start", seconds(5)});
  pass(seconds(5));
  EXPECT_THAT(told(0),
              ElementsAre("failed 1 barrier start was not reached by all within 5 s: rank 1 (pid "
                          "101 on node1) did not come to it; rank 2 never joined"));
}

TEST_F(StoreTest, ThoseWhoAreOverdueTogetherDoNotNameEachOther) {
  join_all();
  ask(0, Barrier{1, "start", seconds(5)});
  ask(1, Barrier{1, "start", seconds(5)});
  pass(seconds(5));
  for (const ConnectionId id : {0, 1}) {
    EXPECT_THAT(told(id), ElementsAre(AllOf(HasSubstr("rank 2 (pid 102 on node2) did not come"),
                                            Not(HasSubstr("rank 0")), Not(HasSubstr("rank 1")))));
  }
}

TEST_F(StoreTest, ARankThatGoesWithoutLeavingIsDeadForAll) {
  join_all();
  ask(0, Barrier{1, "start", seconds(5)});
  close(1);
  const std::string reason =
      "rank 1 (pid 101 on node1) died: its connection to the store was closed";
  EXPECT_THAT(told(0), ElementsAre("aborted by 1: " + reason));
  EXPECT_THAT(told(2), ElementsAre("aborted by 1: " + reason));
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_EQ(ended_[0].rank, 1);
  EXPECT_EQ(ended_[0].end, RankEnd::died);
  EXPECT_EQ(ended_[0].pid, 101U);
  // Later calls get it too, also those whose answer is known.
  ask(0, Set{2, "color", "red"});
  ask(0, Get{3, "color", seconds(5)});
  ask(0, Barrier{4, "start", seconds(5)});
  EXPECT_THAT(told(0),
              ElementsAre("failed 2 " + reason, "failed 3 " + reason, "failed 4 " + reason));
}

TEST_F(StoreTest, WhoComesAfterADeathIsToldOfIt) {
  open(0, identity(0));
  close(0);
  open(1, identity(1));
  EXPECT_THAT(told(1), ElementsAre(HasSubstr("failed 0 rank 0 (pid 100 on node0) died")));
  EXPECT_THAT(closed_, ElementsAre(1));
}

TEST_F(StoreTest, TheFirstDeathStaysTheReason) {
  join_all();
  close(1);
  close(2);
  EXPECT_THAT(told(0), ElementsAre(HasSubstr("rank 1 (")));
  ask(0, Get{1, "color", seconds(5)});
  EXPECT_THAT(told(0), ElementsAre(HasSubstr("rank 1 (")));
  EXPECT_EQ(ended_.size(), 2U);
}

TEST_F(StoreTest, LeavingIsNotDying) {
  join_all();
  ask(1, Leave{1});
  EXPECT_THAT(told(1), ElementsAre("done 1"));
  EXPECT_THAT(closed_, ElementsAre(1));
  ask(1, Barrier{2, "start", seconds(5)});
  EXPECT_THAT(told(1), IsEmpty());
  EXPECT_THAT(told(0), IsEmpty());
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_EQ(ended_[0].end, RankEnd::left);
}

TEST_F(StoreTest, WhoHasLeftMayNotAskAgain) {
  for (const Message& message :
       {Message(Leave{2}), Message(Abort{"x"}), Message(Set{2, "k", "v"}),
        Message(Get{2, "k", seconds(1)}), Message(Barrier{2, "b", seconds(1)})}) {
    store_ = Store(options());
    sides_.clear();
    closed_.clear();
    ended_.clear();
    join_all();
    ask(1, Leave{1});
    ask(1, message);
    EXPECT_THAT(closed_, ElementsAre(1));
    EXPECT_EQ(ended_.size(), 1U);
    static_cast<void>(told(1));
  }
}

TEST_F(StoreTest, ABarrierWithARankThatHasLeftFailsAtOnce) {
  join_all();
  ask(0, Barrier{1, "start", seconds(5)});
  ask(1, Leave{1});
  EXPECT_THAT(told(0), ElementsAre("failed 1 barrier start: rank 1 (pid 101 on node1) has left"));
  ask(2, Barrier{1, "start", seconds(5)});
  EXPECT_THAT(told(2), ElementsAre("failed 1 barrier start: rank 1 (pid 101 on node1) has left"));
}

TEST_F(StoreTest, AnAbortReachesTheOthersAndTheOwner) {
  join_all();
  ask(2, Abort{"the loss is not a number"});
  EXPECT_THAT(told(0), ElementsAre("aborted by 2: the loss is not a number"));
  EXPECT_THAT(told(1), ElementsAre("aborted by 2: the loss is not a number"));
  EXPECT_THAT(told(2), IsEmpty());
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_EQ(ended_[0].end, RankEnd::aborted);
  close(2);
  EXPECT_THAT(told(0), IsEmpty());
}

TEST_F(StoreTest, TheOwnerCanAbort) {
  join_all();
  perform(store_.abort("interrupted"));
  for (const ConnectionId id : {0, 1, 2})
    EXPECT_THAT(told(id), ElementsAre("aborted by -1: interrupted"));
}

TEST_F(StoreTest, WrongRanksAreRefusedWithAReason) {
  open(0, identity(0));
  told(0);
  auto twice = identity(0);
  twice.join.pid = 555;
  open(10, twice);
  EXPECT_THAT(told(10),
              ElementsAre("failed 0 two processes are rank 0: rank 0 (pid 100 on node0), and pid "
                          "555 on node0"));
  auto world = identity(1);
  world.join.world = 4;
  open(11, world);
  EXPECT_THAT(told(11), ElementsAre("failed 0 rank 1 expects 4 ranks, the store 3"));
  auto generation = identity(1);
  generation.join.generation = 1;
  open(12, generation);
  EXPECT_THAT(told(12), ElementsAre("failed 0 rank 1 is of attempt 1, the store of attempt 2"));
  auto range = identity(1);
  range.join.rank = -1;
  open(13, range);
  EXPECT_THAT(told(13), ElementsAre("failed 0 rank -1: expected 0 to 2"));
  EXPECT_THAT(closed_, ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(StoreTest, AWrongSecretLearnsNothing) {
  auto stranger = identity(1);
  stranger.secret = nonce(43);
  std::size_t sent = 0;
  sides_.emplace(1, RankSide(stranger, nonce(1)));
  const auto count = [&](const StoreActions& actions) {
    for (const auto& action : actions) sent += std::holds_alternative<SendBytes>(action) ? 1 : 0;
  };
  count(store_.opened(1, nonce(101), now_));
  const auto challenge = store_.received(1, sides_.at(1).begin(), now_);
  count(challenge);
  EXPECT_EQ(sent, 1U) << "the challenge, which is a random number";
  const auto reply = sides_.at(1).received(std::get<SendBytes>(challenge[0]).bytes).reply;
  const auto end = store_.received(1, reply, now_);
  ASSERT_EQ(end.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<CloseConnection>(end[0]));
}

TEST_F(StoreTest, AStoreWithAnotherSecretIsRefusedByTheRank) {
  RankSide side(identity(0), nonce(1));
  static_cast<void>(side.received(encode(Challenge{nonce(2)})));
  const Digest wrong = proof_of(nonce(43), Role::store, nonce(1), nonce(2));
  EXPECT_THROW(static_cast<void>(side.received(encode(Welcome{wrong}))), SecretError);
}

TEST_F(StoreTest, TheRanksOwnProofIsNotTheStores) {
  RankSide side(identity(0), nonce(1));
  static_cast<void>(side.received(encode(Challenge{nonce(1)})));
  const Digest mirrored = proof_of(nonce(42), Role::rank, nonce(1), nonce(1));
  EXPECT_THROW(static_cast<void>(side.received(encode(Welcome{mirrored}))), SecretError);
}

TEST_F(StoreTest, NothingCanBeAskedBeforeJoining) {
  for (const Message& message : {Message(Get{1, "color", seconds(1)}), Message(Leave{1}),
                                 Message(Join{}), Message(Abort{"x"}), Message(Joined{})}) {
    closed_.clear();
    static_cast<void>(store_.opened(1, nonce(1), now_));
    perform(store_.received(1, encode(message), now_));
    EXPECT_THAT(closed_, ElementsAre(1));
  }
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(StoreTest, LargeFramesBeforeAuthenticationEndTheConnection) {
  static_cast<void>(store_.opened(1, nonce(1), now_));
  perform(store_.received(1, encode(Set{1, "key", std::string(300, 'x')}), now_));
  EXPECT_THAT(closed_, ElementsAre(1));
}

TEST_F(StoreTest, ARankThatTalksNonsenseIsDead) {
  join_all();
  deliver(1, Bytes(20, std::byte{0xff}));
  EXPECT_THAT(told(0), ElementsAre(HasSubstr("rank 1 (pid 101 on node1) died: a frame of")));
  EXPECT_THAT(closed_, ElementsAre(1));
}

TEST_F(StoreTest, SilentConnectionsAreClosedInTime) {
  static_cast<void>(store_.opened(1, nonce(1), now_));
  static_cast<void>(store_.opened(2, nonce(1), now_ + seconds(1)));
  EXPECT_EQ(store_.next_deadline(), now_ + seconds(10));
  pass(seconds(10));
  EXPECT_THAT(closed_, ElementsAre(1));
  pass(seconds(1));
  EXPECT_THAT(closed_, ElementsAre(1, 2));
  EXPECT_EQ(store_.next_deadline(), std::nullopt);
}

TEST_F(StoreTest, TheOldestOfTooManyStrangersGoesAndRanksStay) {
  join_all();
  for (ConnectionId id = 10; id < 20; ++id) perform(store_.opened(id, nonce(1), now_));
  EXPECT_THAT(closed_, ElementsAre(10, 11));
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(StoreTest, EndlessDeadlinesDoNotOverflow) {
  join_all();
  ask(0, Get{1, "color", milliseconds::max()});
  ask(0, Get{2, "color", milliseconds::min()});
  pass(seconds(1000));
  EXPECT_THAT(told(0), ElementsAre(HasSubstr("failed 2")));
  EXPECT_GT(store_.next_deadline(), now_);
}

TEST_F(StoreTest, RandomEventsNeverBreakIt) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    store_ = Store(options());
    sides_.clear();
    for (int step = 0; step < 60; ++step) {
      const ConnectionId id = random() % 6;
      switch (random() % 8) {
        case 0:
          open(id, identity(static_cast<int>(random() % 4)));
          break;
        case 1:
          close(id);
          break;
        case 2:
          pass(milliseconds(random() % 4000));
          break;
        case 3:
          ask(id, Get{random(), "k", milliseconds(random() % 5000)});
          break;
        case 4:
          ask(id, Barrier{random(), "b", milliseconds(random() % 5000)});
          break;
        case 5:
          ask(id, random() % 4 == 0 ? Message(Leave{1}) : Message(Set{1, "k", "v"}));
          break;
        case 6:
          ask(id, random() % 4 == 0 ? Message(Abort{"enough"}) : Message(Hello{}));
          break;
        default: {
          Bytes bytes(random() % 40);
          for (auto& byte : bytes) byte = static_cast<std::byte>(random() % 12);
          deliver(id, bytes);
        }
      }
    }
  }
  EXPECT_FALSE(ended_.empty());
}

}  // namespace
}  // namespace lockstep::collectives::rendezvous
