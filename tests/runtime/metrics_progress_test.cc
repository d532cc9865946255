#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "runtime/metrics/progress.h"

namespace lockstep::runtime::metrics {
namespace {

StepLine full_line() {
  StepLine line;
  line.step = 1200;
  line.steps = 5000;
  line.loss = 2.14321;
  line.lr = 3e-4;
  line.step_ms = 412.34;
  line.samples_per_s = 4966.2;
  line.comm_ms = 38.12;
  line.exposed_comm_ms = 2.41;
  line.data_wait_ms = 0.31;
  return line;
}

TEST(ProgressText, ALoggedStepIsOneLine) {
  EXPECT_EQ(plain_line(full_line()),
            "step 1200/5000  loss 2.1432  lr 3.0e-04  412.3 ms  4,966 samples/s  "
            "comm 38.1 ms (exposed 2.4)  data 0.3 ms");
}

TEST(ProgressText, TokensAndTheCeilingAreSaidWhereTheyAreKnown) {
  StepLine line = full_line();
  line.tokens_per_s = 1234567.8;
  line.share_of_ceiling = 0.612;
  EXPECT_EQ(plain_line(line),
            "step 1200/5000  loss 2.1432  lr 3.0e-04  412.3 ms  1,234,568 tok/s  "
            "61% of the matrix ceiling  comm 38.1 ms (exposed 2.4)  data 0.3 ms");
}

TEST(ProgressText, WhatWasNotMeasuredIsLeftOut) {
  StepLine line;
  line.step = 7;
  EXPECT_EQ(plain_line(line), "step 7");
  EXPECT_EQ(terminal_line(line, 80), "7");
  line.exposed_comm_ms = 2.4;
  EXPECT_EQ(plain_line(line), "step 7  exposed comm 2.4 ms");
  line.exposed_comm_ms.reset();
  line.comm_ms = 3.5;
  line.samples_per_s = 3.4159;
  EXPECT_EQ(plain_line(line), "step 7  3.42 samples/s  comm 3.5 ms");
}

TEST(ProgressText, RatesAreGroupedByThousands) {
  const auto rate = [](double samples_per_s) {
    StepLine line;
    line.samples_per_s = samples_per_s;
    return plain_line(line);
  };
  EXPECT_EQ(rate(99.94), "step 0  99.9 samples/s");
  EXPECT_EQ(rate(999.4), "step 0  999 samples/s");
  EXPECT_EQ(rate(999.6), "step 0  1,000 samples/s");
  EXPECT_EQ(rate(1000000), "step 0  1,000,000 samples/s");
}

TEST(ProgressText, ATerminalShowsABarAndTheTimeLeft) {
  EXPECT_EQ(terminal_line(full_line(), 120),
            " 24% [####----------------]  1200/5000  loss 2.1432  4,966 samples/s  left 26:07");
  StepLine slow = full_line();
  slow.step_ms = 4123.4;
  EXPECT_EQ(terminal_line(slow, 120),
            " 24% [####----------------]  1200/5000  loss 2.1432  4,966 samples/s  left 4:21:09");
  StepLine done = full_line();
  done.step = 5000;
  EXPECT_EQ(terminal_line(done, 120),
            "100% [####################]  5000/5000  loss 2.1432  4,966 samples/s");
}

TEST(ProgressText, ANarrowTerminalGetsAShorterLine) {
  EXPECT_EQ(terminal_line(full_line(), 70),
            " 24%  1200/5000  loss 2.1432  4,966 samples/s  left 26:07");
  EXPECT_EQ(terminal_line(full_line(), 50), " 24%  1200/5000  loss 2.1432  4,966 samples/s");
  EXPECT_EQ(terminal_line(full_line(), 30), " 24%  1200/5000  loss 2.1432");
  EXPECT_EQ(terminal_line(full_line(), 3), " 24");
  for (std::size_t width = 0; width < 120; ++width) {
    EXPECT_LE(terminal_line(full_line(), width).size(), width);
  }
}

TEST(Progress, ALogGetsALineForALoggedStepOnly) {
  std::ostringstream out;
  Progress progress(out, ProgressStyle::plain, [] { return std::size_t{80}; });
  StepLine line;
  line.step = 1;
  progress.advance(line);
  progress.log(line);
  progress.say("saved step 1");
  progress.finish();
  EXPECT_EQ(out.str(), "step 1\nsaved step 1\n");
}

TEST(Progress, ATerminalsLineIsDrawnAgainInPlace) {
  std::ostringstream out;
  std::size_t width = 40;
  Progress progress(out, ProgressStyle::terminal, [&] { return width; });
  StepLine line;
  line.step = 123;
  progress.advance(line);
  line.step = 4;
  progress.log(line);
  progress.say("saved");
  width = 3;
  line.step = 567;
  progress.advance(line);
  progress.finish();
  progress.finish();
  EXPECT_EQ(out.str(),
            "\r123"
            "\r4  "
            "\r \rsaved\n4"
            "\r56"
            "\n");
}

TEST(Progress, TheStyleFollowsTheTerminalUnlessItIsSet) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const int terminal = ::posix_openpt(0);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::unsetenv("LOCKSTEP_PROGRESS"), 0);
  EXPECT_EQ(progress_style(ends[1]), ProgressStyle::plain);
  EXPECT_EQ(progress_style(terminal), ProgressStyle::terminal);
  ASSERT_EQ(::setenv("LOCKSTEP_PROGRESS", "terminal", 1), 0);
  EXPECT_EQ(progress_style(ends[1]), ProgressStyle::terminal);
  ASSERT_EQ(::setenv("LOCKSTEP_PROGRESS", "plain", 1), 0);
  EXPECT_EQ(progress_style(terminal), ProgressStyle::plain);
  ASSERT_EQ(::unsetenv("LOCKSTEP_PROGRESS"), 0);
  EXPECT_EQ(terminal_width(ends[1]), 80u);
  for (const int descriptor : {ends[0], ends[1], terminal}) ::close(descriptor);
}

}  // namespace
}  // namespace lockstep::runtime::metrics
