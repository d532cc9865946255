// Ranks that are processes: they meet over a store, and are killed and stopped in the middle of
// their work.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "collectives/rendezvous/secret.h"
#include "collectives/rendezvous/store_server.h"

namespace lockstep::collectives {
namespace {

using rendezvous::Descriptor;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Matches;

constexpr seconds kPatience(60);  // for what must happen, however busy the machine is

class Process {
 public:
  Process(std::vector<std::string> arguments, std::vector<std::string> environment, int secret) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    output_ = Descriptor(ends[0]);
    const Descriptor input(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, secret, 200);
    std::vector<char*> argv;
    std::vector<char*> env;
    for (auto& text : arguments) argv.push_back(text.data());
    for (auto& text : environment) env.push_back(text.data());
    argv.push_back(nullptr);
    env.push_back(nullptr);
    const int error = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), env.data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("posix_spawn of " + arguments[0]);
  }
  ~Process() {
    if (reaped_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // The next line of its output; "(end)" where there is none, "(late)" when it takes too long.
  std::string line() {
    const auto until = steady_clock::now() + kPatience;
    while (true) {
      if (const auto end = text_.find('\n'); end != std::string::npos) {
        std::string first = text_.substr(0, end);
        text_.erase(0, end + 1);
        return first;
      }
      const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
      pollfd polled{output_.get(), POLLIN, 0};
      if (left.count() <= 0 || ::poll(&polled, 1, static_cast<int>(left.count())) == 0)
        return "(late)";
      std::array<char, 4096> bytes{};
      const ssize_t n = ::read(output_.get(), bytes.data(), bytes.size());
      if (n <= 0) return "(end)";
      text_.append(bytes.data(), static_cast<std::size_t>(n));
    }
  }

  int exit_code() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  Descriptor output_;
  std::string text_;
};

class HostProcesses : public testing::Test {
 protected:
  void start(int world, const std::string& mode, milliseconds deadline = seconds(60)) {
    start(std::vector{world}, mode, deadline);
  }

  // Ranks of each host.
  void start(const std::vector<int>& hosts, const std::string& mode,
             milliseconds deadline = seconds(60)) {
    const int world = std::accumulate(hosts.begin(), hosts.end(), 0);
    rendezvous::StoreServerOptions options;
    options.store.world = world;
    options.store.secret = rendezvous::generate_secret();
    options.on_rank_end = [this](const rendezvous::RankEnded& end) {
      const std::lock_guard lock(mutex_);
      ends_.push_back(end);
      changed_.notify_all();
    };
    server_ = std::make_unique<rendezvous::StoreServer>(options);
    const Descriptor secret = rendezvous::descriptor_of(options.store.secret);
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      for (int local = 0; local < hosts[host]; ++local) {
        ranks_.push_back(std::make_unique<Process>(
            std::vector<std::string>{LOCKSTEP_HOST_WORKER, mode, std::to_string(deadline.count())},
            std::vector<std::string>{"LOCKSTEP_STORE=" + server_->address(),
                                     "LOCKSTEP_RANK=" + std::to_string(ranks_.size()),
                                     "LOCKSTEP_WORLD=" + std::to_string(world),
                                     "LOCKSTEP_LOCAL_RANK=" + std::to_string(local),
                                     "LOCKSTEP_LOCAL_WORLD=" + std::to_string(hosts[host]),
                                     "LOCKSTEP_HOST_RANK=" + std::to_string(host),
                                     "GROUP_WORLD_SIZE=" + std::to_string(hosts.size()),
                                     "LOCKSTEP_GENERATION=0", "LOCKSTEP_SECRET_FD=200"},
            secret.get()));
      }
    }
  }

  rendezvous::RankEnd end_of(int rank) {
    std::unique_lock lock(mutex_);
    const auto found = [&] {
      return std::find_if(ends_.begin(), ends_.end(),
                          [&](const auto& e) { return e.rank == rank; });
    };
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return found() != ends_.end(); }));
    return found()->end;
  }

  Process& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<rendezvous::RankEnded> ends_;
  std::unique_ptr<rendezvous::StoreServer> server_;
  std::vector<std::unique_ptr<Process>> ranks_;
};

TEST_F(HostProcesses, MakeEveryCollectiveAndLeave) {
  start(4, "exact");
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(rank(r).line(), "ok");
    EXPECT_EQ(rank(r).exit_code(), 0);
    EXPECT_EQ(end_of(r), rendezvous::RankEnd::left);
  }
}

TEST_F(HostProcesses, AKilledRankIsNamedByTheOthersWithinTwoSeconds) {
  start(4, "busy");
  for (int r = 0; r < 4; ++r) ASSERT_EQ(rank(r).line(), "ready");
  const auto killed = steady_clock::now();
  rank(2).signal(SIGKILL);
  for (const int r : {0, 1, 3}) {
    EXPECT_THAT(
        rank(r).line(),
        AllOf(HasSubstr("error: rank 2 (pid " + std::to_string(rank(2).pid())), HasSubstr("died")));
  }
  EXPECT_LT(steady_clock::now() - killed, seconds(2));
  for (const int r : {0, 1, 3}) EXPECT_EQ(rank(r).exit_code(), 1);
  EXPECT_EQ(end_of(2), rendezvous::RankEnd::died);
}

TEST_F(HostProcesses, RankZeroCanDieLikeAnyOther) {
  start(2, "busy");
  for (int r = 0; r < 2; ++r) ASSERT_EQ(rank(r).line(), "ready");
  const auto killed = steady_clock::now();
  rank(0).signal(SIGKILL);
  EXPECT_THAT(rank(1).line(), HasSubstr("error: rank 0 (pid "));
  EXPECT_LT(steady_clock::now() - killed, seconds(2));
}

TEST_F(HostProcesses, AStoppedRankIsNamedAtTheDeadline) {
  start(3, "busy", seconds(1));
  for (int r = 0; r < 3; ++r) ASSERT_EQ(rank(r).line(), "ready");
  const auto stopped = steady_clock::now();
  rank(1).signal(SIGSTOP);
  for (const int r : {0, 2}) {
    EXPECT_THAT(rank(r).line(), AllOf(HasSubstr("all_reduce #"), HasSubstr("4.0 MiB"),
                                      HasSubstr("did not end within 1 s"), HasSubstr("rank 1 (")));
  }
  EXPECT_GE(steady_clock::now() - stopped, milliseconds(900));
  EXPECT_LT(steady_clock::now() - stopped, seconds(3));
  rank(1).signal(SIGCONT);
  EXPECT_THAT(rank(1).line(), HasSubstr("error: "));
  EXPECT_EQ(rank(1).exit_code(), 1);
}

TEST_F(HostProcesses, WhoNeverMeetsIsNamed) {
  start(3, "late", seconds(1));
  EXPECT_THAT(rank(0).line(), HasSubstr("rank 1 is missing"));
  EXPECT_THAT(rank(2).line(), HasSubstr("rank 1 is missing"));
}

TEST_F(HostProcesses, OnSeveralHostsMakeEveryCollectiveAndLeave) {
  start(std::vector{3, 1, 2}, "exact");
  for (int r = 0; r < 6; ++r) {
    EXPECT_EQ(rank(r).line(), "ok");
    EXPECT_EQ(rank(r).exit_code(), 0);
    EXPECT_EQ(end_of(r), rendezvous::RankEnd::left);
  }
}

TEST_F(HostProcesses, AKilledRankIsNamedOnAllHostsWithinThreeSeconds) {
  for (const int victim : {2, 3}) {  // the first of its host, and another
    ranks_.clear();
    start(std::vector{2, 2, 1}, "busy");
    for (int r = 0; r < 5; ++r) ASSERT_EQ(rank(r).line(), "ready");
    const auto killed = steady_clock::now();
    rank(victim).signal(SIGKILL);
    for (int r = 0; r < 5; ++r) {
      if (r == victim) continue;
      EXPECT_THAT(rank(r).line(), HasSubstr("error: rank " + std::to_string(victim) + " (pid " +
                                            std::to_string(rank(victim).pid())));
      EXPECT_EQ(rank(r).exit_code(), 1);
    }
    EXPECT_LT(steady_clock::now() - killed, seconds(3));
  }
}

TEST_F(HostProcesses, AStoppedHostIsNamedAtTheDeadline) {
  start(std::vector{2, 1, 1}, "busy", seconds(1));
  for (int r = 0; r < 4; ++r) ASSERT_EQ(rank(r).line(), "ready");
  const auto stopped = steady_clock::now();
  rank(2).signal(SIGSTOP);
  // Who is told of another's end first names that one; somebody names the host that is stopped.
  int named = 0;
  for (const int r : {0, 1, 3}) {
    const std::string line = rank(r).line();
    const bool by_deadline =
        Matches(AllOf(HasSubstr("all_reduce #"), HasSubstr("did not end within 1 s"),
                      HasSubstr("rank 2 ("), HasSubstr("between hosts")))(line);
    named += by_deadline ? 1 : 0;
    EXPECT_TRUE(by_deadline || Matches(HasSubstr(" died: "))(line)) << line;
  }
  EXPECT_GT(named, 0);
  EXPECT_LT(steady_clock::now() - stopped, seconds(4));
}

TEST_F(HostProcesses, TheEndOfTheLauncherEndsThem) {
  start(2, "busy");
  for (int r = 0; r < 2; ++r) ASSERT_EQ(rank(r).line(), "ready");
  server_.reset();
  for (int r = 0; r < 2; ++r) EXPECT_THAT(rank(r).line(), HasSubstr("the launcher has ended"));
}

}  // namespace
}  // namespace lockstep::collectives
