// The whole program: job files and data that are wrong.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/train_site.h"

namespace lockstep::runtime {
namespace {

using launcher::Launched;

struct WrongJob {
  std::string setting;
  std::string said;
};

std::ostream& operator<<(std::ostream& out, const WrongJob& test) {
  return out << test.setting;
}

class WrongJobFile : public testing::TestWithParam<WrongJob> {};

TEST_P(WrongJobFile, StartsNothingAndIsSaidInOneLine) {
  const TrainSite site;
  const Json job = lenet_job();
  const std::vector<std::string> more = {"--set", GetParam().setting};
  for (const Launched::Setup& setup : {site.train(job, more), site.launch(2, job, more)}) {
    Launched run(setup);
    EXPECT_EQ(run.wait(), 2) << run.err();
    EXPECT_NE(run.err().find(GetParam().said), std::string::npos) << run.err();
    EXPECT_EQ(count(run.err(), "error: "), 1) << run.err();
    EXPECT_EQ(count(run.err(), "\n"), 1) << run.err();
    EXPECT_EQ(run.out(), "");
    EXPECT_FALSE(std::filesystem::exists(site.runs()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Keys, WrongJobFile,
    testing::Values(WrongJob{"modle=1", "modle: unknown key; did you mean model?"},
                    WrongJob{"optimizer.momentun=1", "did you mean optimizer.momentum?"},
                    WrongJob{"data.batch=many", "data.batch: expected an integer"},
                    WrongJob{"data.batch=0", "data.batch: expected an integer from 1"},
                    WrongJob{"model.kind=lenett", "did you mean \"lenet\"?"},
                    WrongJob{"precision=fp16", "\"fp16\" is not built yet"},
                    WrongJob{"data", "expected KEY=VALUE"}));

TEST(WrongJobFile, ThatIsNoJsonIsSaidWithItsPlace) {
  const TrainSite site;
  const std::filesystem::path file = site.folder() / "job.json";
  std::ofstream(file) << "{\n  \"model\": {,\n";
  for (const char* command : {"train", "launch"}) {
    Launched run({.args = {command, file}});
    EXPECT_EQ(run.wait(), 2) << run.err();
    EXPECT_TRUE(run.err().starts_with("error: " + file.string() + ":2:13: ")) << run.err();
    EXPECT_EQ(count(run.err(), "\n"), 1) << run.err();
  }
}

std::string be32(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(number >> shift & 0xff));
  }
  return bytes;
}

const std::string kImages = be32(0x803) + be32(10) + be32(28) + be32(28) + std::string(7840, '\1');
const std::string kLabels = be32(0x801) + be32(10) + std::string(10, '\2');

struct WrongData {
  const char* name;
  std::optional<std::string> images;  // nothing: the file is not there
  std::string labels;
  std::string said;
};

std::ostream& operator<<(std::ostream& out, const WrongData& test) {
  return out << test.name;
}

class WrongDataFile : public testing::TestWithParam<WrongData> {};

// The message once, whoever says it, and the launcher's report of the one that did.
void expect_said_once(const Launched& run, const std::string& said) {
  EXPECT_NE(run.err().find(said), std::string::npos) << run.err();
  EXPECT_EQ(count(run.err(), "] error: "), 1) << run.err();
  EXPECT_EQ(count(run.err(), "\nerror: rank "), 1) << run.err();
  EXPECT_EQ(run.out(), "");
}

TEST_P(WrongDataFile, IsSaidOnceWithItsPlace) {
  const TrainSite site;
  if (GetParam().images) std::ofstream(site.folder() / "images") << *GetParam().images;
  std::ofstream(site.folder() / "labels") << GetParam().labels;
  Json job = lenet_job();
  job["data"]["train"] = {{"format", "idx"}, {"images", "images"}, {"labels", "labels"}};
  job["data"]["batch"] = 4;

  Launched alone(site.train(job));
  EXPECT_EQ(alone.wait(), 1) << alone.err();
  EXPECT_NE(alone.err().find(GetParam().said), std::string::npos) << alone.err();
  EXPECT_EQ(count(alone.err(), "\n"), 1) << alone.err();
  EXPECT_FALSE(std::filesystem::exists(site.runs()));

  Launched together(site.launch(3, job));
  EXPECT_EQ(together.wait(), 1) << together.err();
  expect_said_once(together, GetParam().said);
  const Json ended = summary(site.latest("lenet"));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(ended.at("exit").at("rank"), 0);
  EXPECT_TRUE(ended.at("step_ms").at("median").is_null());
}

INSTANTIATE_TEST_SUITE_P(
    Files, WrongDataFile,
    testing::Values(
        WrongData{"Missing", std::nullopt, kLabels, "/images: no such file"},
        WrongData{"Empty", "", kLabels, "/images: the file is empty"},
        WrongData{"Truncated", kImages.substr(0, 5000), kLabels, "/images: byte "},
        WrongData{"NoIdx", "certainly no IDX", kLabels, "/images: byte 0: not an IDX file"},
        WrongData{"CutGzip", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3", 10), kLabels,
                  "/images: byte 10: expected more gzip data"},
        WrongData{"LabelsTruncated", kImages, kLabels.substr(0, 12), "/labels: byte "},
        WrongData{"LabelOutOfRange", kImages, kLabels.substr(0, 16) + '\x0a' + kLabels.substr(17),
                  "/labels: byte 16: record 8: expected a label of 0 to 9"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(WrongDataFile, MoreWorkersThanSamplesIsSaidOnce) {
  const TrainSite site;
  const auto said = [&site](const std::function<void(Json&)>& change, const std::string& sentence) {
    Json job = lenet_job();
    change(job);
    Launched run(site.launch(4, job));
    EXPECT_EQ(run.wait(), 1) << run.err();
    expect_said_once(run, sentence);
  };
  said([](Json& job) { job["data"]["batch"] = 3; }, "a batch of 3 cannot be shared by 4 workers");
  said([](Json& job) { job["data"]["train"]["samples"] = 3; }, "the training set has 3 samples");
  said(
      [](Json& job) {
        job["data"]["eval"] = {{"format", "synthetic"}, {"samples", 2}};
      },
      "the evaluation set has 2 samples for 4 workers");
}

}  // namespace
}  // namespace lockstep::runtime
