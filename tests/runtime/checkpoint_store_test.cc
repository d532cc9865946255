#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "runtime/checkpoint/checkpoint.h"
#include "tests/runtime/checkpoint_faults.h"
#include "tests/runtime/checkpoint_fixtures.h"

namespace lockstep::runtime::checkpoint {
namespace {

using faults::MemoryFileSystem;
using fixtures::Content;
using fixtures::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path kDirectory = "/checkpoints";

CheckpointStore store_on(FileSystem& disk, std::size_t keep = 3, std::uint64_t generation = 1) {
  return {disk, {kDirectory, keep, generation}};
}

void save(CheckpointStore& store, std::int64_t step) {
  const SaveResult result = store.save(step, Content(step).content());
  ASSERT_TRUE(result.ok()) << result.problem;
}

TEST(Checkpoint, WhatIsSavedIsLoadedFromRealFiles) {
  const TemporaryFolder folder;
  PosixFileSystem files;
  const auto directory = folder.path() / "checkpoints";
  CheckpointStore store(files, {directory, 3, 7});
  const SaveResult result = store.save(500, Content(500).content());
  ASSERT_TRUE(result.ok()) << result.problem;
  EXPECT_THAT(result.messages, IsEmpty());
  EXPECT_EQ(result.saved->path, directory / "step-00000500");
  EXPECT_THAT(files.list(directory), ElementsAre("step-00000500"));
  EXPECT_THAT(files.list(directory / "step-00000500"),
              ElementsAre("manifest.json", "model.safetensors", "optimizer.safetensors",
                          "plan.json", "state.json"));
  EXPECT_EQ(std::filesystem::status(directory / "step-00000500").permissions(),
            std::filesystem::perms::owner_all);

  const FoundCheckpoint found = CheckpointStore(files, {directory, 3, 8}).newest_good();
  ASSERT_TRUE(found.newest);
  EXPECT_THAT(found.messages, IsEmpty());
  EXPECT_EQ(found.newest->generation, 7u);
  EXPECT_EQ(found.newest->bytes, result.saved->bytes);

  LoadedCheckpoint loaded = load_checkpoint(files, found.newest->path);
  const LoadedCheckpoint moved = std::move(loaded);
  EXPECT_EQ(moved.step, 500);
  EXPECT_TRUE(fixtures::same(moved.content, Content(500).content()));
}

TEST(Checkpoint, TheSameContentGivesTheSameBytes) {
  MemoryFileSystem one, other;
  auto first = store_on(one), second = store_on(other);
  save(first, 5);
  save(second, 5);
  EXPECT_EQ(fixtures::files_of(one, kDirectory / "step-00000005"),
            fixtures::files_of(other, kDirectory / "step-00000005"));
}

TEST(Checkpoint, AFolderThatIsNotThereHoldsNone) {
  MemoryFileSystem disk;
  const FoundCheckpoint found = store_on(disk).newest_good();
  EXPECT_FALSE(found.newest);
  EXPECT_THAT(found.messages, IsEmpty());
}

TEST(Checkpoint, OnlyTheNewestAreKept) {
  MemoryFileSystem disk;
  auto store = store_on(disk, 2);
  for (std::int64_t step = 1; step <= 4; ++step) save(store, step);
  EXPECT_THAT(disk.list(kDirectory), ElementsAre("step-00000003", "step-00000004"));
  auto strict = store_on(disk, 1);
  save(strict, 100'000'000);
  EXPECT_THAT(disk.list(kDirectory), ElementsAre("step-100000000"));
  EXPECT_EQ(strict.newest_good().newest->step, 100'000'000);
}

TEST(Checkpoint, ADamagedOneDoesNotCountAsKept) {
  MemoryFileSystem disk;
  auto store = store_on(disk, 2);
  for (std::int64_t step = 1; step <= 2; ++step) save(store, step);
  disk.bytes(kDirectory / "step-00000002" / "model.safetensors").back() ^= std::byte{1};
  auto resumed = store_on(disk, 2);
  EXPECT_EQ(resumed.newest_good().newest->step, 1);
  save(resumed, 3);
  EXPECT_THAT(disk.list(kDirectory),
              ElementsAre("step-00000001", "step-00000002", "step-00000003"));
  save(resumed, 4);
  EXPECT_THAT(disk.list(kDirectory), ElementsAre("step-00000003", "step-00000004"));
}

TEST(Checkpoint, TheOneJustSavedStaysThoughNewerStepsAreThere) {
  MemoryFileSystem disk;
  auto store = store_on(disk, 1);
  save(store, 10);
  save(store, 5);
  EXPECT_THAT(disk.list(kDirectory), ElementsAre("step-00000005", "step-00000010"));
}

TEST(Checkpoint, ADamagedStepIsReplacedWhenItIsSavedAgain) {
  MemoryFileSystem disk;
  auto store = store_on(disk);
  save(store, 1);
  disk.bytes(kDirectory / "step-00000001" / "state.json").pop_back();
  EXPECT_FALSE(store_on(disk).newest_good().newest);
  save(store, 1);
  EXPECT_EQ(store_on(disk).newest_good().newest->step, 1);
  EXPECT_THAT(disk.list(kDirectory), ElementsAre("step-00000001"));
}

// Every byte of every file of the newest checkpoint.
TEST(Checkpoint, AnyDamagedByteOfTheNewestIsNamedAndTheOneBeforeIsUsed) {
  MemoryFileSystem disk;
  auto store = store_on(disk);
  save(store, 1);
  save(store, 2);
  const auto newest = kDirectory / "step-00000002";
  std::size_t bytes = 0;
  for (const std::string& name : disk.list(newest)) {
    auto& file = disk.bytes(newest / name);
    for (std::size_t at = 0; at < file.size(); ++at) {
      file[at] ^= static_cast<std::byte>(1u << (at % 8));
      ++bytes;
      const FoundCheckpoint found = store.newest_good();
      ASSERT_TRUE(found.newest) << name << " byte " << at;
      EXPECT_EQ(found.newest->step, 1) << name << " byte " << at;
      ASSERT_EQ(found.messages.size(), 1u);
      EXPECT_THAT(found.messages[0],
                  HasSubstr("passed over: checkpoint /checkpoints/step-00000002"));
      EXPECT_THAT(found.messages[0], HasSubstr(name + " is damaged"));
      EXPECT_THROW((void)store.load(newest), CheckpointError);
      file[at] ^= static_cast<std::byte>(1u << (at % 8));
    }
  }
  const FoundCheckpoint whole = store.newest_good();
  EXPECT_EQ(whole.newest->step, 2);
  EXPECT_EQ(bytes, whole.newest->bytes + disk.bytes(newest / "manifest.json").size());
}

TEST(Checkpoint, AMissingAShorterAndALongerFileAreNamed) {
  for (const char* name :
       {"manifest.json", "model.safetensors", "optimizer.safetensors", "plan.json", "state.json"}) {
    for (const int change : {-1, 0, 1}) {
      SCOPED_TRACE(fmt::format("{} {}", name, change));
      MemoryFileSystem disk;
      auto store = store_on(disk);
      save(store, 1);
      save(store, 2);
      const auto file = kDirectory / "step-00000002" / name;
      if (change == 0) {
        disk.remove(file);
      } else {
        auto& bytes = disk.bytes(file);
        bytes.resize(bytes.size() + static_cast<std::size_t>(change));
      }
      const FoundCheckpoint found = store.newest_good();
      ASSERT_TRUE(found.newest);
      EXPECT_EQ(found.newest->step, 1);
      ASSERT_EQ(found.messages.size(), 1u);
      EXPECT_THAT(found.messages[0], HasSubstr(name));
    }
  }
}

TEST(Checkpoint, WhatASaveLeftBehindIsIgnoredAndOnlyItsOwnRunRemovesIt) {
  MemoryFileSystem disk;
  auto store = store_on(disk);
  save(store, 1);
  const auto leftover = kDirectory / ".step-00000002.1f00ba12.tmp";
  disk.create_directory(leftover);
  disk.create_file(leftover / "model.safetensors")->write(std::vector<std::byte>(10));
  disk.create_directory(kDirectory / "notes");
  EXPECT_EQ(store.newest_good(Leftovers::keep).newest->step, 1);
  EXPECT_EQ(disk.list(kDirectory).size(), 3u);
  EXPECT_EQ(store.newest_good().newest->step, 1);
  EXPECT_THAT(disk.list(kDirectory), ElementsAre("notes", "step-00000001"));
}

TEST(Checkpoint, AnOlderAttemptCannotSaveAfterANewerOne) {
  MemoryFileSystem disk;
  auto older = store_on(disk, 3, 1), newer = store_on(disk, 3, 2);
  save(older, 1);
  save(newer, 2);
  const SaveResult refused = older.save(3, Content(3).content());
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.problem,
              HasSubstr("attempt 2 of this job has saved /checkpoints/step-00000002"));
  EXPECT_THAT(disk.list(kDirectory), ElementsAre("step-00000001", "step-00000002"));
}

TEST(Checkpoint, AFolderThatIsNoCheckpointIsRefusedByName) {
  const TemporaryFolder folder;
  PosixFileSystem files;
  try {
    (void)load_checkpoint(files, folder.path());
    FAIL() << "it was loaded";
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr(folder.path().string()));
    EXPECT_THAT(error.what(), HasSubstr("manifest.json"));
  }
}

TEST(Checkpoint, ContentThatCannotBeWrittenIsAProblemAndLeavesNothing) {
  MemoryFileSystem disk;
  auto store = store_on(disk);
  save(store, 1);
  CheckpointContent content;
  content.optimizer = {{"a", TensorType::f32, {3}, {}}};
  const SaveResult result = store.save(2, content);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.problem, HasSubstr("tensor \"a\""));
  EXPECT_THAT(disk.list(kDirectory), ElementsAre("step-00000001"));
}

TEST(Checkpoint, AStoreThatKeepsNoneIsRefused) {
  MemoryFileSystem disk;
  EXPECT_THROW((void)store_on(disk, 0), std::invalid_argument);
}

// Saves of about 200 KiB until one fails; the last good one must be there. Runs in a process of its
// own, since what makes the disk small belongs to the process. Returns that process's exit code: 0
// as promised.
int fills_up(const std::filesystem::path& directory, const char* expected) {
  PosixFileSystem files;
  const std::vector<float> values(50'000, 1.0f);
  CheckpointContent content;
  content.model = {{"w", TensorType::f32, {50'000}, std::as_bytes(std::span(values))}};
  CheckpointStore store(files, {directory / "checkpoints", 100, 1});
  for (std::int64_t step = 1; step <= 20; ++step) {
    if (step == 3 && std::string_view(expected) == "File too large") {
      const rlimit limit{100'000, RLIM_INFINITY};
      std::signal(SIGXFSZ, SIG_IGN);
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 10;
    }
    const SaveResult result = store.save(step, content);
    if (result.ok()) continue;
    if (step < 2) return 11;
    if (result.problem.find(expected) == std::string::npos) return 12;
    if (result.problem.find("model.safetensors") == std::string::npos) return 13;
    const FoundCheckpoint found = store.newest_good(Leftovers::keep);
    if (!found.newest || found.newest->step != step - 1) return 14;
    if (!fixtures::same(store.load(found.newest->path).content.model, content.model)) return 15;
    for (const std::string& name : files.list(directory / "checkpoints")) {
      if (name.starts_with('.')) return 16;
    }
    return 0;
  }
  return 17;
}

int in_a_process(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Mounts of this process alone; for that a user who is not root needs a user namespace, which some
// systems forbid.
bool own_mounts() {
  if (::unshare(CLONE_NEWNS) == 0) return true;
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1", user);
  std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1", group);
  return ::getuid() == 0;
}

TEST(CheckpointDisk, AFileThatMayNotGrowLeavesTheLastGoodOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(in_a_process([&] { return fills_up(folder.path(), "File too large"); }), 0);
}

TEST(CheckpointDisk, AFullDiskLeavesTheLastGoodOne) {
  constexpr int kNotAllowed = 77;
  const TemporaryFolder folder;
  const int code = in_a_process([&] {
    if (!own_mounts()) return kNotAllowed;
    (void)::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m,mode=0777") != 0) {
      return kNotAllowed;
    }
    return fills_up(folder.path(), "No space left on device");
  });
  if (code == kNotAllowed) GTEST_SKIP() << "SKIPPED: this process may not mount a small tmpfs";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace lockstep::runtime::checkpoint
