#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "runtime/metrics/tensorboard.h"
#include "tests/runtime/checkpoint_fixtures.h"
#include "tests/runtime/metrics_event_reader.h"

namespace lockstep::runtime::metrics {
namespace {

using checkpoint::fixtures::corpus;
using checkpoint::fixtures::TemporaryFolder;
using reader::read_events;
using reader::ReadFile;

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::filesystem::path only_file(const std::filesystem::path& folder) {
  checkpoint::PosixFileSystem files;
  const auto names = files.list(folder);
  if (names.size() != 1) throw std::runtime_error("the folder holds not one file");
  return folder / names[0];
}

// Worked out by hand from the two published .proto files and the framing.
TEST(TensorBoard, ARecordsBytesAreThoseOfTheFormat) {
  EXPECT_EQ(hex(event_file_header(1637681485.5)),
            "1800000000000000a37f4b22"  // length 24 and its checksum
            "09000060534267d841"        // wall_time
            "1a0d627261696e2e4576656e743a32"
            "b0085f8d");
  EXPECT_EQ(hex(event_session_start(1637681485.5, 501)),
            "100000000000000095fbfe18"
            "09000060534267d841"
            "10f503"    // step 501
            "3a020801"  // session_log {status: START}
            "98e5fbb5");
  EXPECT_EQ(hex(event_scalar(1637681485.5, {"train/loss", 300, 2.125f})),
            "2100000000000000017becf6"
            "09000060534267d841"
            "10ac02"  // step 300
            "2a130a11"
            "0a0a747261696e2f6c6f7373"
            "1500000840"  // simple_value 2.125
            "22d194bc");
}

TEST(TensorBoard, AFilesNameIsOneThatTensorBoardLooksFor) {
  EXPECT_EQ(event_file_name(1637681485.9, "node2", 19, 0),
            "events.out.tfevents.1637681485.node2.19.0");
  EXPECT_EQ(event_file_name(7, "n", 1, 3), "events.out.tfevents.0000000007.n.1.3");
}

TEST(TensorBoard, WhatIsWrittenIsReadBack) {
  const TemporaryFolder folder;
  EventFile file(folder.path(), 1000.5, std::nullopt);
  EXPECT_EQ(file.path(), only_file(folder.path()));
  for (std::int64_t step = 0; step < 300; ++step) {
    file.write(1001.0 + static_cast<double>(step),
               {"train/loss", step, 1.0f / static_cast<float>(step + 1)});
  }
  // Not closed: a reader sees every record at once.
  const ReadFile read = read_events(bytes_of(file.path()));
  ASSERT_EQ(read.events.size(), 301u);
  EXPECT_EQ(read.bytes_left, 0u);
  EXPECT_EQ(read.events[0].file_version, "brain.Event:2");
  EXPECT_EQ(read.events[0].time, 1000.5);
  for (std::size_t at = 1; at < read.events.size(); ++at) {
    EXPECT_EQ(read.events[at].step, static_cast<std::int64_t>(at) - 1);
    ASSERT_EQ(read.events[at].scalars.size(), 1u);
    EXPECT_EQ(read.events[at].scalars[0].tag, "train/loss");
    EXPECT_EQ(read.events[at].scalars[0].value, 1.0f / static_cast<float>(at));
  }
}

TEST(TensorBoard, AResumedAttemptHasAFileOfItsOwnThatDropsLaterSteps) {
  const TemporaryFolder folder;
  const EventFile first(folder.path(), 1000, std::nullopt);
  const EventFile second(folder.path(), 1000, 500);
  EXPECT_NE(first.path(), second.path());
  const ReadFile read = read_events(bytes_of(second.path()));
  ASSERT_EQ(read.events.size(), 2u);
  EXPECT_EQ(read.events[1].session_status, 1u);
  EXPECT_EQ(read.events[1].step, 501);
}

TEST(TensorBoardCorpus, FilesOfTensorFlowAreRead) {
  const auto folder = corpus("tensorboard");
  if (!folder) GTEST_SKIP() << "SKIPPED: the shared corpus is not here";
  struct Run {
    const char* name;
    float first_loss, first_accuracy, last_loss, last_accuracy;
  };
  int seen = 0;
  for (const Run& run : {Run{"train", 0.20479995f, 0.9404f, 0.03606665f, 0.98962998f},
                         Run{"test", 0.07551847f, 0.9763f, 0.05592838f, 0.98334998f}}) {
    if (!std::filesystem::is_directory(*folder / run.name)) continue;
    ++seen;
    const std::string text = bytes_of(only_file(*folder / run.name));
    const ReadFile read = read_events(text);
    ASSERT_EQ(read.events.size(), 21u);
    EXPECT_EQ(read.bytes_left, 0u);
    EXPECT_EQ(read.events[0].file_version, "brain.Event:2");
    EXPECT_EQ(static_cast<std::int64_t>(read.events[0].time), 1637681485);
    std::map<std::string, std::vector<float>> values;
    for (std::size_t at = 1; at < 21; ++at) {
      ASSERT_EQ(read.events[at].scalars.size(), 1u);
      const auto& scalar = read.events[at].scalars[0];
      ASSERT_TRUE(scalar.value);
      EXPECT_EQ(read.events[at].step, static_cast<std::int64_t>(values[scalar.tag].size()));
      EXPECT_EQ(scalar.plugin, "scalars");
      values[scalar.tag].push_back(*scalar.value);
    }
    ASSERT_EQ(values["loss"].size(), 10u);
    ASSERT_EQ(values["accuracy"].size(), 10u);
    EXPECT_FLOAT_EQ(values["loss"].front(), run.first_loss);
    EXPECT_FLOAT_EQ(values["accuracy"].front(), run.first_accuracy);
    EXPECT_FLOAT_EQ(values["loss"].back(), run.last_loss);
    EXPECT_FLOAT_EQ(values["accuracy"].back(), run.last_accuracy);

    // Cut in its 17th record: what is whole is read, the rest is not there yet.
    const ReadFile cut = read_events(std::string_view(text).substr(0, 1000));
    EXPECT_GE(cut.events.size(), 15u);
    EXPECT_LT(cut.bytes_left, 100u);
  }
  EXPECT_GE(seen, 1);
}

TEST(TensorBoardCorpus, ADamagedFileIsNotTakenForAGoodOne) {
  const auto folder = corpus("tensorboard");
  if (!folder) GTEST_SKIP() << "SKIPPED: the shared corpus is not here";
  std::string text = bytes_of(only_file(*folder / "test"));
  text[200] = static_cast<char>(text[200] ^ 1);
  EXPECT_THROW((void)read_events(text), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::runtime::metrics
