// The launcher's small parts, each alone.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "launcher/agent/allowed_cpus.h"
#include "launcher/agent/worker_environment.h"
#include "launcher/agent/worker_setting.h"
#include "launcher/coordinator/outcome.h"
#include "launcher/coordinator/screen.h"
#include "launcher/program_search.h"
#include "launcher/visible_gpus.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string value(const std::vector<std::string>& environment, const std::string& name) {
  std::string found = "(unset)";
  for (const std::string& entry : environment) {
    if (entry.starts_with(name + "=")) found = entry.substr(name.size() + 1);
  }
  return found;
}

HostJob two_of_five() {
  HostJob job;
  job.world = 5;
  job.first_rank = 3;
  job.local_world = 2;
  job.host_rank = 1;
  job.hosts = 2;
  job.interface = "eno1";
  job.run_folder = "/run";
  return job;
}

TEST(Environment, RanksOfOtherLaunchersAreRemovedAndAllElseIsKept) {
  HostJob job = two_of_five();
  job.environment = {"PATH=/bin",
                     "RANK=9",
                     "OMPI_COMM_WORLD_RANK=1",
                     "SLURM_PROCID=2",
                     "SLURM_NTASKS=4",
                     "RANKING=x",
                     "dotted.name=a\nb",
                     "=odd",
                     "bare",
                     "LOCKSTEP_PROGRESS=terminal"};
  const auto environment = worker_environment(job, 1, {8, 5});
  const std::vector<std::string> kept(environment.begin(), environment.begin() + 6);
  EXPECT_EQ(kept, (std::vector<std::string>{"PATH=/bin", "SLURM_NTASKS=4", "RANKING=x",
                                            "dotted.name=a\nb", "=odd", "bare"}));
  EXPECT_EQ(value(environment, "RANK"), "4");
  EXPECT_EQ(value(environment, "LOCAL_RANK"), "1");
  EXPECT_EQ(value(environment, "GROUP_RANK"), "1");
  EXPECT_EQ(value(environment, "OMPI_COMM_WORLD_RANK"), "(unset)");
  EXPECT_EQ(value(environment, "LOCKSTEP_PROGRESS"), "(unset)");
  EXPECT_EQ(value(environment, "LOCKSTEP_SECRET_FD"), "5");
}

TEST(Environment, WhatTheUserSetIsNotOverridden) {
  HostJob job = two_of_five();
  job.environment = {"OMP_NUM_THREADS=", "NCCL_SOCKET_IFNAME=ib0"};
  const auto environment = worker_environment(job, 0, {8, 5});
  EXPECT_EQ(value(environment, "OMP_NUM_THREADS"), "");
  EXPECT_EQ(value(environment, "NCCL_SOCKET_IFNAME"), "ib0");
  EXPECT_EQ(value(environment, "GLOO_SOCKET_IFNAME"), "eno1");
  EXPECT_EQ(value(environment, "PYTHONUNBUFFERED"), "1");
}

TEST(Environment, ThreadsShareTheAllowedCpusAndAreNeverNone) {
  HostJob job = two_of_five();
  const std::uint32_t all = allowed_cpus();
  for (const std::uint32_t workers : {1U, 2U, 2 * all}) {
    job.local_world = workers;
    const auto settings = worker_settings(job, "job", nullptr);
    ASSERT_EQ(settings.size(), workers);
    for (const WorkerSetting& setting : settings) {
      EXPECT_EQ(setting.threads, std::max(all / workers, 1U));
      EXPECT_TRUE(setting.cpus.empty());
    }
  }
  EXPECT_EQ(value(worker_environment(job, 0, {3, 5}), "OMP_NUM_THREADS"), "3");
}

TEST(Environment, OnlyRankZeroIsToldOfATerminal) {
  HostJob job = two_of_five();
  job.lead_output = LeadOutput::kAtOnce;
  EXPECT_EQ(value(worker_environment(job, 0, {}), "LOCKSTEP_PROGRESS"), "(unset)");
  job.first_rank = 0;
  EXPECT_EQ(value(worker_environment(job, 0, {}), "LOCKSTEP_PROGRESS"), "terminal");
  EXPECT_EQ(value(worker_environment(job, 1, {}), "LOCKSTEP_PROGRESS"), "(unset)");
}

TEST(AllowedCpus, TheTightestQuotaOnTheWayToTheRootCounts) {
  const TemporaryFolder root;
  EXPECT_EQ(cgroup_quota(root.path()), std::nullopt);
  write(root.path() / "proc/self/cgroup", "0::/a/b\n");
  write(root.path() / "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_quota(root.path()), std::nullopt);
  write(root.path() / "sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cgroup_quota(root.path()), 2.5);
}

TEST(AllowedCpus, QuotasOfVersionOneAreRead) {
  const TemporaryFolder root;
  write(root.path() / "proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/job\n");
  write(root.path() / "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  write(root.path() / "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write(root.path() / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write(root.path() / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_quota(root.path()), 1.5);
}

TEST(AllowedCpus, IsAtLeastOne) {
  EXPECT_GE(allowed_cpus(), 1U);
}

TEST(VisibleGpus, DeviceListsAreOpaque) {
  const fs::path none = "/nonexistent";
  EXPECT_EQ(visible_gpus("0,1,3", none), 3U);
  EXPECT_EQ(visible_gpus("GPU-8932f937,MIG-GPU-1/1/2", none), 2U);
  EXPECT_EQ(visible_gpus("", none), 0U);
  EXPECT_EQ(visible_gpus("-1", none), 0U);
  EXPECT_EQ(visible_gpus("0,-1,2", none), 1U);
  EXPECT_EQ(visible_gpus("NoDevFiles", none), 0U);
}

TEST(VisibleGpus, WithoutAListTheDevicesAreCounted) {
  const TemporaryFolder dev;
  for (const char* name : {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "null"}) {
    write(dev.path() / name, "");
  }
  EXPECT_EQ(visible_gpus(std::nullopt, dev.path()), 3U);
  EXPECT_EQ(visible_gpus(std::nullopt, "/nonexistent"), 0U);
}

TEST(ProgramSearch, SaysWhereItLookedAndWhatItPassedOver) {
  const TemporaryFolder folder;
  write(folder.path() / "bin/tool", "x");
  const std::string path = "/nonexistent:" + (folder.path() / "bin").string();
  try {
    (void)find_program("tool", path);
    FAIL() << "a file that is not executable was taken";
  } catch (const ProgramNotFound& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("not executable"), std::string::npos) << error.what();
  }
  fs::permissions(folder.path() / "bin/tool", fs::perms::owner_all);
  EXPECT_EQ(find_program("tool", path), (folder.path() / "bin/tool").string());
  EXPECT_THROW((void)find_program("", path), ProgramNotFound);
  EXPECT_THROW((void)find_program(folder.path().string(), path), ProgramNotFound);
}

TEST(Outcome, RanksAreJoined) {
  EXPECT_EQ(join_ranks({}), "");
  EXPECT_EQ(join_ranks({4}), "4");
  EXPECT_EQ(join_ranks({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
}

TEST(Outcome, OnlyTheLastLinesAreShown) {
  Outcome outcome{Status::kFailed, 1, ExitSource::kWorker, Culprit{}};
  outcome.culprit->rank = 0;
  outcome.culprit->what = "exited with code 1";
  for (int i = 0; i < 50; ++i) outcome.culprit->last_errors += "line " + std::to_string(i) + "\n";
  const std::string report = failure_report(outcome, "/no/run");
  EXPECT_EQ(report.find("line 29\n"), std::string::npos) << report;
  EXPECT_NE(report.find("    | line 30\n"), std::string::npos) << report;
  EXPECT_NE(report.find("    | line 49\n"), std::string::npos) << report;
}

TEST(Screen, EveryLineOfAWorkerIsPrefixed) {
  Screen screen(LeadLines::kPrefixed);
  EXPECT_EQ(screen.show({12, Stream::kErr, "a\n\nb\n"}), "[12] a\n[12] \n[12] b\n");
}

TEST(Screen, AmongSeveralHostsTheHostIsNamedToo) {
  Screen screen(LeadLines::kPrefixed);
  EXPECT_EQ(screen.show({3, Stream::kOut, "a\nb\n"}, "node1"), "[node1:3] a\n[node1:3] b\n");
}

TEST(Screen, OtherLinesAreDrawnAboveABareLeadsProgress) {
  Screen screen(LeadLines::kBare);
  EXPECT_EQ(screen.show({0, Stream::kOut, "done\n"}), "done\n");
  EXPECT_EQ(screen.show({1, Stream::kOut, "x\n"}), "[1] x\n");
  EXPECT_EQ(screen.show({0, Stream::kOut, "\rstep 1"}), "\rstep 1");
  EXPECT_EQ(screen.show({0, Stream::kOut, "/50"}), "/50");
  EXPECT_EQ(screen.show({1, Stream::kOut, "x\n"}), "\r\x1b[K[1] x\nstep 1/50");
  EXPECT_EQ(screen.say("lockstep: hm\n"), "\r\x1b[Klockstep: hm\nstep 1/50");
  EXPECT_EQ(screen.show({0, Stream::kOut, "\n"}), "\n");
  EXPECT_EQ(screen.show({0, Stream::kErr, "e\n"}), "[0] e\n");
}

}  // namespace
}  // namespace lockstep::launcher
