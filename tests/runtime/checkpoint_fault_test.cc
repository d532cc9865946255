#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "runtime/checkpoint/checkpoint.h"
#include "tests/runtime/checkpoint_faults.h"
#include "tests/runtime/checkpoint_fixtures.h"

namespace lockstep::runtime::checkpoint {
namespace {

using faults::Fault;
using faults::FaultyFileSystem;
using faults::MemoryFileSystem;
using fixtures::Content;
using fixtures::Files;
using fixtures::files_of;

const std::filesystem::path kCheckpoints = "/checkpoints";

std::filesystem::path folder_of(std::int64_t step) {
  return kCheckpoints / fmt::format("step-{:08}", step);
}

CheckpointStore reopened(FileSystem& disk) {
  return {disk, {kCheckpoints, 2, 1}};
}

// A save that goes wrong, and what was there before.
struct Scenario {
  const char* name;
  std::vector<std::int64_t> before;
  std::int64_t saved;
};

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> kScenarios{{"first", {}, 1},
                                                {"next", {1}, 2},
                                                {"third, which removes one", {1, 2}, 3},
                                                {"replaces the newest", {1, 2}, 2}};
  return kScenarios;
}

// What is there before holds other values, so that a replaced checkpoint is told from the one that
// replaces it.
void fill(MemoryFileSystem& disk, const Scenario& scenario) {
  auto store = reopened(disk);
  for (const std::int64_t step : scenario.before) {
    ASSERT_TRUE(store.save(step, Content(step * 10).content()).ok());
  }
}

int operations(const Scenario& scenario) {
  MemoryFileSystem disk;
  fill(disk, scenario);
  FaultyFileSystem faulty(disk);
  faulty.arm(Fault::none, 0);
  EXPECT_TRUE(reopened(faulty).save(scenario.saved, Content(scenario.saved).content()).ok());
  return static_cast<int>(faulty.log().size());
}

// What a save of that content as that step writes, file by file.
Files files_written(std::int64_t step, std::int64_t content) {
  MemoryFileSystem disk;
  EXPECT_TRUE(reopened(disk).save(step, Content(content).content()).ok());
  return files_of(disk, folder_of(step));
}

// The same for all that these tests save, by step and content.
const Files& whole(std::int64_t step, std::int64_t content) {
  static const auto kWhole = [] {
    std::map<std::pair<std::int64_t, std::int64_t>, Files> files;
    for (std::int64_t at = 1; at <= 3; ++at) {
      for (const std::int64_t of : {at, at * 10}) files[{at, of}] = files_written(at, of);
    }
    return files;
  }();
  return kWhole.at({step, content});
}

// The newest step whose folder holds, byte for byte, what one of its saves wrote; and that save's
// content.
struct Expected {
  std::int64_t step = 0;
  std::int64_t content = 0;
};

Expected newest_whole(MemoryFileSystem& disk) {
  Expected newest;
  std::vector<std::string> names;
  try {
    names = disk.list(kCheckpoints);
  } catch (const FileSystemError&) {
    return newest;
  }
  for (std::int64_t step = 1; step <= 3; ++step) {
    if (std::find(names.begin(), names.end(), folder_of(step).filename()) == names.end()) continue;
    const Files files = files_of(disk, folder_of(step));
    for (const std::int64_t content : {step * 10, step}) {
      if (files == whole(step, content)) newest = {step, content};
    }
  }
  return newest;
}

// The promise: the newest whole checkpoint is found and is bit for bit what was saved, nothing else
// is left, and the next save works.
void expect_found(MemoryFileSystem& disk, const Scenario& scenario, bool saved) {
  // A replaced checkpoint may lie aside, to be brought back by the search.
  Expected expected = newest_whole(disk);
  auto store = reopened(disk);
  const FoundCheckpoint found = store.newest_good();
  const Expected after = newest_whole(disk);
  if (after.step > expected.step) expected = after;

  if (!scenario.before.empty()) {
    ASSERT_TRUE(found.newest) << "the last good one is lost";
    EXPECT_GE(found.newest->step, scenario.before.back());
  }
  if (saved) {
    EXPECT_EQ(expected.content, scenario.saved) << "what was reported as saved is lost";
  }
  ASSERT_EQ(found.newest.has_value(), expected.step != 0);
  if (found.newest) {
    EXPECT_EQ(found.newest->step, expected.step);
    EXPECT_TRUE(fixtures::same(store.load(found.newest->path).content,
                               Content(expected.content).content()));
    for (const std::string& name : disk.list(kCheckpoints)) EXPECT_NE(name.front(), '.') << name;
  }

  const SaveResult next = store.save(4, Content(4).content());
  ASSERT_TRUE(next.ok()) << next.problem;
  EXPECT_EQ(store.newest_good().newest->step, 4);
  for (const std::string& name : disk.list(kCheckpoints)) EXPECT_NE(name.front(), '.') << name;
}

void save_with(Fault fault, const Scenario& scenario, int at, std::uint32_t seed) {
  SCOPED_TRACE(fmt::format("scenario: {}, operation {}, seed {}", scenario.name, at, seed));
  MemoryFileSystem disk;
  fill(disk, scenario);
  FaultyFileSystem faulty(disk);
  faulty.arm(fault, at);
  const SaveResult result =
      reopened(faulty).save(scenario.saved, Content(scenario.saved).content());
  SCOPED_TRACE("at: " + faulty.log().at(static_cast<std::size_t>(at) - 1));
  EXPECT_EQ(result.ok(), result.problem.empty());
  EXPECT_TRUE(!result.ok() || !result.messages.empty() || fault == Fault::no_space)
      << "a fault went unreported";
  if (fault != Fault::stop && !scenario.before.empty()) {
    // At once, not only after a search has put things right.
    EXPECT_THAT(disk.list(kCheckpoints),
                testing::Contains(folder_of(scenario.before.back()).filename().string()));
  }
  if (fault == Fault::stop) {
    std::mt19937 random(seed);
    disk.restart(random);
  }
  expect_found(disk, scenario, result.ok());
}

TEST(CheckpointFaults, ASaveHasManyOperationsToFail) {
  for (const Scenario& scenario : scenarios()) EXPECT_GE(operations(scenario), 20) << scenario.name;
}

TEST(CheckpointFaults, AnErrorOfAnyOneOperationLosesNothing) {
  for (const Scenario& scenario : scenarios()) {
    for (int at = 1; at <= operations(scenario); ++at) {
      save_with(Fault::one_error, scenario, at, 0);
    }
  }
}

TEST(CheckpointFaults, AnErrorOfAnyOneOperationOnRealFilesLosesNothing) {
  int at = 1;
  for (bool failed = true; failed; ++at) {
    SCOPED_TRACE(at);
    const fixtures::TemporaryFolder folder;
    const CheckpointStore::Options options{folder.path() / "checkpoints", 1, 1};
    PosixFileSystem disk;
    ASSERT_TRUE(CheckpointStore(disk, options).save(1, Content(1).content()).ok());
    FaultyFileSystem faulty(disk);
    faulty.arm(Fault::one_error, at);
    const SaveResult result = CheckpointStore(faulty, options).save(2, Content(2).content());
    failed = faulty.log().size() >= static_cast<std::size_t>(at);
    EXPECT_EQ(failed, !result.ok() || !result.messages.empty());

    CheckpointStore store(disk, options);
    const FoundCheckpoint found = store.newest_good();
    ASSERT_TRUE(found.newest);
    EXPECT_TRUE(found.newest->step == 2 || (found.newest->step == 1 && !result.ok()));
    EXPECT_TRUE(fixtures::same(store.load(found.newest->path).content,
                               Content(found.newest->step).content()));
    for (const std::string& name : disk.list(options.directory)) EXPECT_NE(name.front(), '.');
  }
  EXPECT_GT(at, 20);
}

TEST(CheckpointFaults, NoSpaceFromAnyOperationOnLosesNothing) {
  for (const Scenario& scenario : scenarios()) {
    for (int at = 1; at <= operations(scenario); ++at) {
      save_with(Fault::no_space, scenario, at, 0);
    }
  }
}

TEST(CheckpointFaults, AMachineThatStopsAtAnyOperationLosesNothing) {
  for (const Scenario& scenario : scenarios()) {
    for (int at = 1; at <= operations(scenario); ++at) {
      for (std::uint32_t seed = 1; seed <= 12; ++seed) save_with(Fault::stop, scenario, at, seed);
    }
  }
}

TEST(CheckpointFaults, AMachineThatStopsAfterTheSaveKeepsIt) {
  for (const Scenario& scenario : scenarios()) {
    for (std::uint32_t seed = 1; seed <= 24; ++seed) {
      SCOPED_TRACE(fmt::format("scenario: {}, seed {}", scenario.name, seed));
      MemoryFileSystem disk;
      fill(disk, scenario);
      const SaveResult result =
          reopened(disk).save(scenario.saved, Content(scenario.saved).content());
      ASSERT_TRUE(result.ok());
      std::mt19937 random(seed);
      disk.restart(random);
      expect_found(disk, scenario, true);
    }
  }
}

// Without this the tests above would prove nothing.
TEST(CheckpointFaults, TheDiskOfTheseTestsDoesLoseWhatWasNotSynchronised) {
  int lost = 0;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    MemoryFileSystem disk;
    const std::vector<std::byte> bytes(100, std::byte{7});
    const auto file = disk.create_file("/file");
    file->write(bytes);
    disk.sync_directory("/");
    std::mt19937 random(seed);
    disk.restart(random);
    if (disk.bytes("/file") != bytes) ++lost;
  }
  EXPECT_GT(lost, 4);
  EXPECT_LT(lost, 24);
}

}  // namespace
}  // namespace lockstep::runtime::checkpoint
