// The store over sockets, with clients as threads of the test, and with peers that do not play by
// the rules.
#include "collectives/rendezvous/store_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collectives/rendezvous/secret.h"
#include "collectives/rendezvous/store_client.h"

namespace lockstep::collectives::rendezvous {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

class StoreServerTest : public testing::Test {
 protected:
  void start(int world, milliseconds time_to_join = seconds(60)) {
    StoreServerOptions options;
    options.store.world = world;
    options.store.secret = secret_;
    options.store.time_to_join = time_to_join;
    server_ = std::make_unique<StoreServer>(options);
  }
  [[nodiscard]] StoreClientOptions options_of(int rank, int world) const {
    return {.address = server_->address(),
            .secret = secret_,
            .rank = rank,
            .world = world,
            .generation = 0,
            .host = "node" + std::to_string(rank)};
  }
  [[nodiscard]] std::unique_ptr<StoreClient> join(int rank, int world) const {
    return std::make_unique<StoreClient>(options_of(rank, world));
  }
  asio::ip::tcp::socket connect() {
    const std::string address = server_->address();
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    asio::ip::tcp::socket socket(context_);
    socket.connect({asio::ip::make_address("127.0.0.1"), port});
    return socket;
  }
  // Whether the store ends the connection; what it sends before does not matter.
  static bool ends(asio::ip::tcp::socket& socket) {
    boost::system::error_code error;
    std::array<char, 1024> bytes{};
    while (!error) socket.read_some(asio::buffer(bytes), error);
    return error == asio::error::eof || error == asio::error::connection_reset;
  }

  Secret secret_ = generate_secret();
  asio::io_context context_;
  std::unique_ptr<StoreServer> server_;
};

TEST_F(StoreServerTest, RanksMeet) {
  start(4);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([this, rank] {
      const auto store = join(rank, 4);
      store->set("name/" + std::to_string(rank), std::string(1000, static_cast<char>('a' + rank)));
      for (int other = 0; other < 4; ++other) {
        EXPECT_EQ(store->get("name/" + std::to_string(other), seconds(60)),
                  std::string(1000, static_cast<char>('a' + other)));
      }
      for (int round = 0; round < 20; ++round) store->barrier("round", seconds(60));
      store->leave();
      EXPECT_THAT(error_of([&] { store->set("late", ""); }), HasSubstr("has left"));
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(StoreServerTest, AGetWaitsUntilTheValueIsThere) {
  start(2);
  const auto first = join(0, 2);
  const auto second = join(1, 2);
  auto value = std::async(std::launch::async, [&] { return first->get("key", seconds(60)); });
  second->set("key", "value");
  EXPECT_EQ(value.get(), "value");
}

TEST_F(StoreServerTest, TheMissingAreNamedAtTheDeadline) {
  start(3);
  const auto store = join(0, 3);
  const auto other = join(1, 3);
  EXPECT_THAT(error_of([&] { store->barrier("start", milliseconds(50)); }),
              AllOf(HasSubstr("on node1) did not come to it"), HasSubstr("rank 2 never joined")));
  EXPECT_THAT(error_of([&] { static_cast<void>(store->get("key", milliseconds(50))); }),
              AllOf(HasSubstr("nobody has set key"), HasSubstr("rank 2 never joined")));
}

TEST_F(StoreServerTest, ADeathReachesCallbacksAndCallsOfTheOthers) {
  start(3);
  const auto store = join(0, 3);
  auto dying = join(1, 3);
  std::promise<std::string> told;
  store->on_abort([&](std::string_view reason) { told.set_value(std::string(reason)); });
  auto waiting = std::async(
      std::launch::async, [&] { return error_of([&] { store->barrier("start", seconds(60)); }); });
  dying.reset();
  EXPECT_THAT(told.get_future().get(), HasSubstr("rank 1 ("));
  EXPECT_THAT(waiting.get(), HasSubstr("rank 1 ("));
  std::string later;
  store->on_abort([&](std::string_view reason) { later = reason; });
  EXPECT_THAT(later, AllOf(HasSubstr("on node1) died")));
}

TEST_F(StoreServerTest, AnAbortReachesTheOthers) {
  start(2);
  const auto store = join(0, 2);
  const auto other = join(1, 2);
  std::promise<std::string> told;
  store->on_abort([&](std::string_view reason) { told.set_value(std::string(reason)); });
  other->abort("the disk is full");
  EXPECT_EQ(told.get_future().get(), "the disk is full");
  EXPECT_EQ(error_of([&] { other->set("key", ""); }), "the disk is full");
}

TEST_F(StoreServerTest, TheLauncherCanAbortAndItsEndIsToldApart) {
  start(2);
  const auto store = join(0, 2);
  std::promise<std::string> told;
  store->on_abort([&](std::string_view reason) { told.set_value(std::string(reason)); });
  server_->abort("interrupted");
  EXPECT_EQ(told.get_future().get(), "interrupted");

  start(2);
  const auto next = join(0, 2);
  std::promise<std::string> lost;
  next->on_abort([&](std::string_view reason) { lost.set_value(std::string(reason)); });
  server_.reset();
  EXPECT_THAT(lost.get_future().get(), HasSubstr("was lost: the launcher has ended"));
}

TEST_F(StoreServerTest, AnotherSecretIsRefusedAndSaidSo) {
  start(1);
  auto options = options_of(0, 1);
  options.secret = generate_secret();
  EXPECT_THAT(error_of([&] { StoreClient client(options); }),
              AllOf(HasSubstr("refused rank 0"), HasSubstr("secret")));
  join(0, 1)->leave();
}

TEST_F(StoreServerTest, ARankJoinsOnce) {
  start(2);
  const auto first = join(0, 2);
  EXPECT_THAT(error_of([&] { static_cast<void>(join(0, 2)); }),
              HasSubstr("two processes are rank 0"));
  first->set("still", "here");
}

TEST_F(StoreServerTest, NobodyThereIsSaidSo) {
  start(1);
  auto options = options_of(0, 1);
  server_.reset();
  EXPECT_THAT(error_of([&] { StoreClient client(options); }), HasSubstr("no store at 127.0.0.1:"));
  options.address = "127.0.0.1";
  EXPECT_THAT(error_of([&] { StoreClient client(options); }), HasSubstr("expected HOST:PORT"));
}

TEST_F(StoreServerTest, AServerThatIsNoStoreIsSaidSo) {
  asio::ip::tcp::acceptor acceptor(context_, {asio::ip::make_address("127.0.0.1"), 0});
  std::thread other([&] {
    auto socket = acceptor.accept();
    asio::write(socket, asio::buffer(std::string("HTTP/1.1 400 Bad Request\r\n\r\n")));
    ends(socket);
  });
  StoreClientOptions options;
  options.address = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  EXPECT_THAT(error_of([&] { StoreClient client(options); }), HasSubstr("is not ours"));
  other.join();
}

TEST_F(StoreServerTest, ASilentStoreIsGivenUp) {
  asio::ip::tcp::acceptor acceptor(context_, {asio::ip::make_address("127.0.0.1"), 0});
  StoreClientOptions options;
  options.address = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  options.answer_time = milliseconds(50);
  EXPECT_THAT(error_of([&] { StoreClient client(options); }),
              HasSubstr("did not answer within 0.05 s"));
}

TEST_F(StoreServerTest, IdleConnectionsDoNotKeepRanksOut) {
  start(2);
  std::vector<asio::ip::tcp::socket> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(connect());
  const auto first = join(0, 2);
  const auto second = join(1, 2);
  auto other = std::async(std::launch::async, [&] { second->barrier("start", seconds(60)); });
  first->barrier("start", seconds(60));
  other.get();
}

TEST_F(StoreServerTest, IdleAndHalfFinishedConnectionsAreClosedInTime) {
  start(1, milliseconds(100));
  auto idle = connect();
  auto half = connect();
  asio::write(half, asio::buffer(std::string("\0\0\0\x22\1", 5)));
  EXPECT_TRUE(ends(idle));
  EXPECT_TRUE(ends(half));
}

TEST_F(StoreServerTest, NonsenseEndsItsConnectionAndNoOther) {
  start(1);
  const auto store = join(0, 1);
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    auto socket = connect();
    std::string bytes(1 + random() % 2000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    bytes[0] = '\x7f';  // a length beyond every limit
    boost::system::error_code ignored;
    asio::write(socket, asio::buffer(bytes), ignored);
    socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    EXPECT_TRUE(ends(socket));
  }
  store->set("still", "here");
  EXPECT_EQ(store->get("still", seconds(60)), "here");
}

TEST_F(StoreServerTest, CanBeServedByACallersContext) {
  asio::io_context context;
  StoreServerOptions options;
  options.store.secret = secret_;
  std::vector<RankEnded> ends;
  options.on_rank_end = [&](const RankEnded& end) { ends.push_back(end); };
  {
    StoreServer server(options, context);
    auto rank = std::async(std::launch::async, [&, address = server.address()] {
      StoreClientOptions client;
      client.address = address;
      client.secret = secret_;
      StoreClient(client).leave();
    });
    while (ends.empty() && context.run_one_for(seconds(60)) != 0) {
    }
    rank.get();
  }
  context.restart();
  context.run_for(milliseconds(10));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].end, RankEnd::left);
}

TEST_F(StoreServerTest, AnAddressThatCannotBeListenedOnIsNamed) {
  StoreServerOptions options;
  options.address = "192.0.2.1";
  EXPECT_THAT(error_of([&] { StoreServer server(options); }),
              HasSubstr("the store cannot listen on 192.0.2.1:0"));
}

TEST(Secrets, AreReadByAnyNumberOfProcessesAndCannotBeChanged) {
  const Secret secret = generate_secret();
  const Descriptor descriptor = descriptor_of(secret);
  EXPECT_EQ(read_secret(descriptor.get()), secret);
  EXPECT_EQ(read_secret(descriptor.get()), secret);
  EXPECT_LT(::pwrite(descriptor.get(), "x", 1, 0), 0);
  EXPECT_NE(generate_secret(), secret);
}

TEST(Secrets, WrongDescriptorsAreNamed) {
  EXPECT_THAT(error_of([] { static_cast<void>(read_secret(9999)); }), HasSubstr("descriptor 9999"));
  const Descriptor empty(::open("/dev/null", 0));
  EXPECT_THAT(error_of([&] { static_cast<void>(read_secret(empty.get())); }),
              HasSubstr("has 0 bytes, expected 32"));
}

TEST(Environment, EachWrongVariableIsNamed) {
  const Descriptor secret = descriptor_of(generate_secret());
  const auto set_all = [&] {
    ::setenv("LOCKSTEP_STORE", "127.0.0.1:1", 1);
    ::setenv("LOCKSTEP_RANK", "3", 1);
    ::setenv("LOCKSTEP_WORLD", "8", 1);
    ::setenv("LOCKSTEP_GENERATION", "2", 1);
    ::setenv("LOCKSTEP_SECRET_FD", std::to_string(secret.get()).c_str(), 1);
  };
  set_all();
  const auto options = store_options_from_environment();
  ASSERT_TRUE(options);
  EXPECT_EQ(options->rank, 3);
  EXPECT_EQ(options->world, 8);
  EXPECT_EQ(options->generation, 2U);
  EXPECT_EQ(options->secret, read_secret(secret.get()));
  for (const char* name :
       {"LOCKSTEP_RANK", "LOCKSTEP_WORLD", "LOCKSTEP_GENERATION", "LOCKSTEP_SECRET_FD"}) {
    const auto read = [] { static_cast<void>(store_options_from_environment()); };
    set_all();
    ::setenv(name, "three", 1);
    EXPECT_THAT(error_of(read), HasSubstr(std::string(name) + "=three"));
    ::unsetenv(name);
    EXPECT_THAT(error_of(read), HasSubstr(std::string(name) + " is not"));
  }
  ::unsetenv("LOCKSTEP_STORE");
  EXPECT_FALSE(store_options_from_environment());
}

}  // namespace
}  // namespace lockstep::collectives::rendezvous
