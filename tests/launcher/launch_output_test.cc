// What workers print, on the launcher's output and in their logs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>

#include "launcher/process/system_call.h"
#include "tests/launcher/launched.h"

namespace lockstep::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

std::vector<std::string> launch(const std::string& workers, const std::vector<std::string>& rest) {
  std::vector<std::string> args{"launch", "-n", workers};
  args.insert(args.end(), rest.begin(), rest.end());
  return args;
}

constexpr int kFloodLines = 1'000'000;

// Returns how many lines of the flood are there, in order and whole; -1 at the first that is not.
int count_flood(std::istream& lines, const std::string& prefix, const std::string& other_prefix) {
  const std::string filling(90, 'x');
  int next = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!other_prefix.empty() && line.starts_with(other_prefix)) continue;
    if (line != fmt::format("{}{:08} {}", prefix, next, filling)) return -1;
    ++next;
  }
  return next;
}

TEST(LaunchOutput, AHundredMegabytesNeitherStallNorMixLines) {
  Launched job({.args = launch("2", worker("flood"))});
  ASSERT_EQ(job.wait(std::chrono::minutes(4)), 0) << job.err();
  std::ifstream screen(job.folder() / "stdout"), log(job.run(python()) / "log/rank0.log");
  EXPECT_EQ(count_flood(screen, "[0] ", "[1] "), kFloodLines);
  EXPECT_EQ(count_flood(log, "", ""), kFloodLines);

  for (const bool odd : {false, true}) {
    std::istringstream lines(odd ? job.err() : job.out());
    int next = odd ? 1 : 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("[1] ")) continue;
      EXPECT_EQ(line, fmt::format("[1] line {}", next));
      next += 2;
    }
    EXPECT_EQ(next, odd ? 2'001 : 2'000);
  }
  const std::string other = contents(job.run(python()) / "log/rank1.log");
  EXPECT_EQ(std::count(other.begin(), other.end(), '\n'), 2'000);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(job.peak_kib(), 32 * 1024) << "output must not pile up in the launcher";
#endif
}

TEST(LaunchOutput, OddBytesLongLinesAndAMissingEndAreKept) {
  Launched job({.args = launch("1", worker("odd_output"))});
  ASSERT_EQ(job.wait(), 0) << job.err();
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  const std::string log = contents(job.run(python()) / "log/rank0.log");
  EXPECT_TRUE(log.starts_with(bytes + "\n"));
  EXPECT_TRUE(log.ends_with("\nno end\n"));
  EXPECT_EQ(std::count(log.begin() + 257, log.end(), 'y'), 300'000);
  EXPECT_TRUE(job.out().ends_with("\n[0] no end\n"));
}

TEST(LaunchOutput, AStreamNobodyReadsHoldsUpNeitherAFailureNorItsOutput) {
  Pipe pipe = make_pipe();
  Launched job({.args = launch("2", worker("endless")), .output = pipe.write.get()});
  pipe.write.reset();
  ASSERT_TRUE(eventually([&job] {
    return std::filesystem::exists(job.folder() / "ready0") &&
           std::filesystem::exists(job.folder() / "ready1");
  }));
  std::ofstream(job.folder() / "go").flush();
  EXPECT_TRUE(eventually([&job] { return job.process_named(python()) == 0; }, seconds(20)))
      << "the workers must end although nobody reads";
  EXPECT_EQ(job.wait(milliseconds(0)), -1) << "what was printed is not thrown away";
  std::string line, text(1 << 16, '\0');
  ssize_t count = 0;
  while ((count = ::read(pipe.read.get(), text.data(), text.size())) > 0) {
    line.append(text.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(job.wait(), 7) << job.err();
  EXPECT_TRUE(line.starts_with(fmt::format("[0] {:x>1000}\n", "")));
}

TEST(LaunchOutput, AStreamNobodyReadsDoesNotHoldUpAnInterrupt) {
  Pipe pipe = make_pipe();
  Launched job({.args = launch("2", worker("endless")), .output = pipe.write.get()});
  ASSERT_TRUE(eventually([&job] {
    return std::filesystem::exists(job.folder() / "ready0") &&
           std::filesystem::exists(job.folder() / "ready1");
  }));
  const auto begin = steady_clock::now();
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 130) << job.err();
  EXPECT_LT(steady_clock::now() - begin, seconds(2));
  EXPECT_TRUE(job.processes().empty());
}

TEST(LaunchOutput, AClosedStreamDoesNotEndTheJob) {
  Pipe pipe = make_pipe();
  pipe.read.reset();
  Launched job({.args = launch("1", {"--", "sh", "-c", "echo a; echo b; echo c >&2"}),
                .output = pipe.write.get()});
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_NE(job.err().find("[0] c\n"), std::string::npos) << job.err();
  EXPECT_EQ(contents(job.run("sh") / "log/rank0.log").size(), 6U);
}

}  // namespace
}  // namespace lockstep::launcher
