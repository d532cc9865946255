// The whole program on text: every label counts once, and a token stands for the same for good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/train_site.h"

namespace lockstep::runtime {
namespace {

using launcher::Launched;
using testing::HasSubstr;

// 900 characters of a rhyme, 26 of them different.
std::string rhyme() {
  std::string text;
  while (text.size() < 900) text += "a quick brown fox jumps over the lazy dog; ";
  return text.substr(0, 900);
}

Json text_job(const TrainSite& site, const std::string& text) {
  std::ofstream(site.folder() / "text.txt") << text;
  Json job = gpt_job();
  job["data"]["train"] = {{"format", "text"}, {"path", "text.txt"}, {"to", 0.8}};
  job["data"]["eval"] = {{"format", "text"}, {"path", "text.txt"}, {"from", 0.8}};
  job["model"].erase("vocabulary");
  return job;
}

TEST(TrainLanguage, EvaluationCountsEachLabelOnceInAnyWorld) {
  const TrainSite site;
  const Json job = text_job(site, rhyme());
  const Json alone = summary(site.done(1, job)), two = summary(site.done(2, job));
  // 180 characters are 179 labels: 12 windows of 16, the last one of 3.
  for (const Json& run : {alone, two}) {
    EXPECT_EQ(run.at("eval").at("samples"), 12);
    EXPECT_EQ(run.at("tokens"), 12 * 12 * 16);
    EXPECT_GT(run.at("throughput").at("tokens_per_s"), 0);
    EXPECT_GT(run.at("throughput").at("share_of_ceiling"), 0);
  }
  EXPECT_NEAR(alone.at("eval").at("loss").get<double>() / two.at("eval").at("loss").get<double>(),
              1, 1e-5);
}

TEST(TrainLanguage, ACheckpointKeepsWhatItsTokensStandFor) {
  const TrainSite site;
  Json job = text_job(site, rhyme());
  const std::filesystem::path run = site.done(1, job);
  std::ifstream file(saved_at(run, 12) / "state.json");
  const Json vocabulary = Json::parse(file).at("vocabulary");
  EXPECT_EQ(vocabulary.size(), 28u) << "letters, space and semicolon";
  EXPECT_EQ(vocabulary.at(2), "a");

  std::string other = rhyme();
  std::replace(other.begin(), other.end(), 'q', 'Q');
  job = text_job(site, other);
  job["resume"] = saved_at(run, 12).string();
  job["steps"] = 20;
  Launched refused(site.train(job));
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_THAT(refused.err(), HasSubstr("a token does not stand for the same"));
}

TEST(TrainLanguage, AModelWithTooFewTokenValuesIsToldTheFirstThatDoesNotFit) {
  const TrainSite site;
  Json job = text_job(site, rhyme());
  job["model"]["vocabulary"] = 20;
  Launched refused(site.train(job));
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_THAT(refused.err(), HasSubstr("at position 3 "));
  EXPECT_THAT(refused.err(), HasSubstr("20"));
}

TEST(TrainLanguage, AContextLongerThanTheDataIsRefused) {
  const TrainSite site;
  Json job = text_job(site, rhyme());
  job["model"]["context"] = 1000;
  Launched refused(site.train(job));
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_THAT(refused.err(), HasSubstr("1000"));
  EXPECT_THAT(refused.err(), HasSubstr("720"));
}

TEST(TrainPlan, ARunThatFollowsAPlanHasItsBits) {
  const TrainSite site;
  Json job = gpt_job();
  job["precision"] = "bf16";
  const std::filesystem::path first = site.done(2, job);
  const std::string plan = (first / "plan.json").string();
  Launched second(site.launch(2, job, {"--plan", plan}));
  ASSERT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(difference(saved_at(first, 12), saved_at(site.latest(job.at("name")), 12)), "");

  Launched wider(site.launch(3, job, {"--plan", plan}));
  EXPECT_EQ(wider.wait(), 1);
  EXPECT_THAT(wider.err(), testing::ContainsRegex("they differ in .*world;"));
}

TEST(TrainPlan, AFileThatIsNoPlanIsNamed) {
  const TrainSite site;
  std::ofstream(site.folder() / "plan.json") << "{\"version\": 1}";
  const std::string plan = (site.folder() / "plan.json").string();
  Launched refused(site.train(gpt_job(), {"--plan", plan}));
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_THAT(refused.err(), HasSubstr(plan + ": expected kernels.isa"));
  Launched missing(site.train(gpt_job(), {"--plan", plan + ".not"}));
  EXPECT_EQ(missing.wait(), 1);
  EXPECT_THAT(missing.err(), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace lockstep::runtime
