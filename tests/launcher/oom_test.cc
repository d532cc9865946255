// Whether the kernel's out-of-memory killer is told from somebody with SIGKILL.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "launcher/agent/oom.h"
#include "launcher/coordinator/outcome.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(Oom, TheCounterIsReadFromEitherVersion) {
  EXPECT_EQ(oom_kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n"), 2);
  EXPECT_EQ(oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"), 5);
  EXPECT_EQ(oom_kills("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt);
  EXPECT_EQ(oom_kills(""), std::nullopt);
  EXPECT_EQ(oom_kills("oom_kill x"), std::nullopt);
}

TEST(Oom, TheLogNamesExactlyItsVictim) {
  const std::string global =
      "Out of memory: Killed process 1234 (python) total-vm:8kB, anon-rss:4kB, UID:0";
  const std::string group =
      "Memory cgroup out of memory: Killed process 1234 (python) total-vm:8kB";
  EXPECT_TRUE(names_oom_victim(global, 1234));
  EXPECT_TRUE(names_oom_victim(group, 1234));
  EXPECT_FALSE(names_oom_victim(global, 123));
  EXPECT_FALSE(names_oom_victim(global, 12345));
  EXPECT_FALSE(names_oom_victim("Killed process 1234 (python)", 1234));
}

TEST(Oom, OneRiseOfTheCounterExplainsOneEnd) {
  const TemporaryFolder root;
  const fs::path group = root.path() / "sys/fs/cgroup/a/b";
  write(root.path() / "proc/self/cgroup", "0::/a/b/c\n");
  fs::create_directories(group / "c");
  write(group / "memory.events", "oom 1\noom_kill 1\n");
  OomWatch watch(root.path());
  EXPECT_EQ(watch.explain(1).cause, Cause::kUnknownSender) << "that was before";
  write(group / "memory.events", "oom 2\noom_kill 2\n");
  const Killer first = watch.explain(2);
  EXPECT_EQ(first.cause, Cause::kOutOfMemory);
  EXPECT_NE(first.evidence.find("a/b/memory.events rose to 2"), std::string::npos)
      << first.evidence;
  EXPECT_EQ(watch.explain(3).cause, Cause::kUnknownSender);
}

TEST(Oom, VersionOneIsReadToo) {
  const TemporaryFolder root;
  const fs::path file = root.path() / "sys/fs/cgroup/memory/job/memory.oom_control";
  write(root.path() / "proc/self/cgroup", "4:memory:/job\n0::/\n");
  write(file, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  OomWatch watch(root.path());
  write(file, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_EQ(watch.explain(1).cause, Cause::kOutOfMemory);
}

TEST(Oom, WithoutAnyEvidenceTheSenderIsUnknown) {
  const TemporaryFolder root;
  OomWatch watch(root.path());
  EXPECT_EQ(watch.explain(1).cause, Cause::kUnknownSender);
}

TEST(Oom, TheReportSaysWhatIsKnown) {
  Ended ended{.signal = SIGKILL};
  EXPECT_EQ(how_it_ended(ended), "was ended by SIGKILL");
  ended.killer = {Cause::kUnknownSender, {}};
  EXPECT_EQ(how_it_ended(ended),
            "was killed by SIGKILL, by the kernel (out of memory?) or by someone else");
  ended.killer = {Cause::kOutOfMemory, "oom_kill in F rose to 1"};
  EXPECT_EQ(
      how_it_ended(ended),
      "was killed by SIGKILL, by the kernel because memory ran out (oom_kill in F rose to 1)");
  EXPECT_EQ(how_it_ended({.code = 3}), "exited with code 3");
}

}  // namespace
}  // namespace lockstep::launcher
