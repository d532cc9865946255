#include "runtime/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/cpu/kernels.h"
#include "runtime/run_numbers.h"

namespace lockstep::runtime {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class MachineFiles : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            fmt::format("memory-budget-{}-{}", ::getpid(),
                        testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST_F(MachineFiles, TheKernelsNumberIsTakenWithoutGroups) {
  write("proc/meminfo", "MemTotal:       100 kB\nMemAvailable:    60 kB\n");
  EXPECT_EQ(available_memory(root_), 60u * 1024);
}

TEST_F(MachineFiles, TheTightestGroupAboveTheProcessLimits) {
  write("proc/meminfo", "MemAvailable:    600000 kB\n");
  write("proc/self/cgroup", "0::/jobs/mine\n");
  write("sys/fs/cgroup/jobs/memory.max", "50000\n");
  write("sys/fs/cgroup/jobs/memory.current", "20000\n");
  write("sys/fs/cgroup/jobs/mine/memory.max", "max\n");
  write("sys/fs/cgroup/jobs/mine/memory.current", "10000\n");
  EXPECT_EQ(available_memory(root_), 30000u);
}

TEST_F(MachineFiles, VersionOneOfControlGroupsIsReadToo) {
  write("proc/self/cgroup", "5:cpu:/x\n4:memory:/slurm/job_7\n");
  write("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "70000");
  write("sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", "80000");
  EXPECT_EQ(available_memory(root_), 0u);
}

TEST_F(MachineFiles, NothingKnownIsNoLimit) {
  EXPECT_EQ(available_memory(root_), std::nullopt);
}

Job job_of(const std::string& more) {
  return parse_job(
      R"({"model": {"kind": "gpt2", "layers": 6, "heads": 2, "width": 64, "context": 64,
      "vocabulary": 50}, "data": {"train": {"format": "synthetic", "samples": 64}, "batch": 16},
      "optimizer": {"learning_rate": {"peak": 0.1}}, "steps": 1)" +
          more + "}",
      "job.json");
}

JobShape shape() {
  return {.sample = {.context = 64},
          .batch = 16,
          .capacity = 16,
          .steps_per_epoch = 4,
          .total_steps = 1,
          .token_values = 50};
}

TEST(MemoryBudget, WhatFitsPasses) {
  const auto kernels = engine::cpu::kernels(1);
  const JobPlan plan = plan_job(job_of(""), shape(), kernels);
  require_memory(plan, job_of(""), {bytes_of_host(plan, 2), 2}, kernels);
}

TEST(MemoryBudget, AWorkerIsPlannedItsSliceOfTheOptimizersStates) {
  const JobPlan plan = plan_job(job_of(""), shape(), engine::cpu::kernels(1));
  metrics::Summary alone, shared;
  fill_from_plan(alone, plan, 1);
  fill_from_plan(shared, plan, 4);
  ASSERT_TRUE(alone.memory.planned && shared.memory.planned);
  EXPECT_EQ(static_cast<std::size_t>(*alone.memory.planned), bytes_of_host(plan, 1));
  const auto optimizer = static_cast<std::int64_t>(
      plan.compiled.arena_bytes[static_cast<std::size_t>(engine::Arena::optimizer)]);
  ASSERT_GT(optimizer, 0);
  EXPECT_EQ(*alone.memory.planned - *shared.memory.planned, optimizer - optimizer / 4);
}

TEST(MemoryBudget, WhatDoesNotFitIsAnsweredWithOwnersAndTheChangeThatHelps) {
  const auto kernels = engine::cpu::kernels(1);
  const Job job = job_of("");
  const JobPlan plan = plan_job(job, shape(), kernels);
  const JobPlan repeated = plan_job(job_of(R"(, "recompute": "block")"), shape(), kernels);
  ASSERT_LT(bytes_of_host(repeated, 2), bytes_of_host(plan, 2));
  try {
    require_memory(plan, job, {bytes_of_host(repeated, 2), 2}, kernels);
    FAIL() << "a job that does not fit was let through";
  } catch (const MemoryError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the job needs "));
    EXPECT_THAT(error.what(), testing::ContainsRegex("activations +[0-9.]+ MiB  [0-9.]+ MiB on "
                                                     "each of 2 workers"));
    EXPECT_THAT(error.what(), testing::ContainsRegex("parameters +[0-9.]+ MiB  one copy"));
    EXPECT_THAT(error.what(), HasSubstr("it fits with \"recompute\": \"block\""));
  }
  try {
    require_memory(plan, job, {bytes_of_host(repeated, 2) * 3 / 4, 2}, kernels);
    FAIL() << "a job that does not fit was let through";
  } catch (const MemoryError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"recompute\": \"block\" and \"accumulate\": "));
  }
  EXPECT_THROW(require_memory(plan, job, {1000, 2}, kernels), MemoryError);
}

}  // namespace
}  // namespace lockstep::runtime
