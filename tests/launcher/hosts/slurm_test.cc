// The hosts of a Slurm job, from its variables.
#include "launcher/hosts/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "launcher/hosts/slurm_counts.h"
#include "tests/launcher/hosts/readable_hosts.h"

namespace lockstep::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::uint32_t> counts(std::string_view text) {
  return expand_slurm_counts({LocatedText::Kind::kValue, "COUNTS", text});
}

std::string refused_counts(std::string_view text) {
  return refusal([&] { (void)counts(text); });
}

std::string refused(const Environment& environment) {
  return refusal([&] { (void)slurm_allocation(environment); });
}

TEST(SlurmCounts, AreRepeatedAsTheySay) {
  EXPECT_THAT(counts("3,1(x2)"), ElementsAre(3, 1, 1));
  EXPECT_THAT(counts("72(x2),36"), ElementsAre(72, 72, 36));
  EXPECT_THAT(counts("4"), ElementsAre(4));
  EXPECT_EQ(counts("1(x65536)").size(), 65'536U);
}

TEST(SlurmCounts, DamageIsRefusedAtItsCharacter) {
  EXPECT_THAT(refused_counts(""), StartsWith("COUNTS, character 1: expected a number a node"));
  EXPECT_THAT(refused_counts("3,"), StartsWith("COUNTS, character 3: expected a number a node"));
  EXPECT_THAT(refused_counts("(x2)"), StartsWith("COUNTS, character 1: expected a number a node"));
  EXPECT_THAT(refused_counts("3(2)"), StartsWith("COUNTS, character 1: expected a number a node"));
  EXPECT_THAT(refused_counts("3(x2"),
              StartsWith("COUNTS, character 4: expected a number of nodes"));
  EXPECT_THAT(refused_counts("1,3(x0)"), StartsWith("COUNTS, character 6: expected a number of"));
  EXPECT_THAT(refused_counts("3(x2)y"), StartsWith("COUNTS, character 4: expected a number of"));
  EXPECT_THAT(refused_counts("-1"), StartsWith("COUNTS, character 1: expected a number a node"));
  EXPECT_THAT(refused_counts("0"), StartsWith("COUNTS, character 1: expected a number a node"));
  EXPECT_THAT(refused_counts("1(x65537)"), StartsWith("COUNTS, character 4: expected a number"));
  EXPECT_EQ(refused_counts("1(x65536),1"),
            "COUNTS, character 11: numbers for more than 65536 nodes");
}

TEST(Slurm, AJobsNodesHaveItsTasksAsSlots) {
  const auto found = slurm_allocation({{"SLURM_JOB_ID", "12"},
                                       {"SLURM_JOB_NODELIST", "h[1-3]"},
                                       {"SLURM_TASKS_PER_NODE", "4,1(x2)"},
                                       {"SLURM_JOB_END_TIME", "1780000000"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(shown(found->hosts), "h1:4 h2:1 h3:1");
  EXPECT_EQ(found->source, "Slurm job 12");
  EXPECT_EQ(found->job_id, "12");
  EXPECT_EQ(found->end_time, 1'780'000'000);
  EXPECT_EQ(found->start, Allocation::Start::kSrun);
  EXPECT_EQ(found->hosts[0].where, "SLURM_JOB_NODELIST");
  EXPECT_THAT(found->notes, IsEmpty());
}

TEST(Slurm, OldNamesOfTheVariablesAreKnown) {
  const auto found = slurm_allocation({{"SLURM_JOBID", "7"}, {"SLURM_NODELIST", "a,b"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(shown(found->hosts), "a b");
  EXPECT_EQ(found->end_time, std::nullopt);
}

TEST(Slurm, WithoutIdOrListThereIsNoJob) {
  EXPECT_FALSE(slurm_allocation({}));
  EXPECT_FALSE(slurm_allocation({{"SLURM_JOB_ID", "12"}}));
  EXPECT_FALSE(slurm_allocation({{"SLURM_JOB_NODELIST", "a"}, {"SLURM_JOB_ID", ""}}));
}

TEST(Slurm, CountsOfASmallerStepAreNotTheJobs) {
  const auto found = slurm_allocation({{"SLURM_JOB_ID", "12"},
                                       {"SLURM_JOB_NODELIST", "h[1-3]"},
                                       {"SLURM_STEP_NODELIST", "h1"},
                                       {"SLURM_TASKS_PER_NODE", "1"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(shown(found->hosts), "h1 h2 h3");
  EXPECT_THAT(found->notes, ElementsAre(StartsWith("SLURM_TASKS_PER_NODE=1 is a job step's")));
}

TEST(Slurm, DamageNamesTheVariable) {
  EXPECT_EQ(refused({{"SLURM_JOB_ID", "12"},
                     {"SLURM_JOB_NODELIST", "h[1-3]"},
                     {"SLURM_TASKS_PER_NODE", "4,1"}}),
            "SLURM_TASKS_PER_NODE=4,1 is of 2 hosts, but SLURM_JOB_NODELIST=h[1-3] has 3");
  EXPECT_THAT(refused({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "h[3-1]"}}),
              StartsWith("SLURM_JOB_NODELIST: expected a range of numbers"));
  EXPECT_THAT(refused({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "h[0-65536]"}}),
              StartsWith("SLURM_JOB_NODELIST: a list of more than 65536 hosts"));
  EXPECT_THAT(refused({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "h[1-2],h2"}}),
              StartsWith("SLURM_JOB_NODELIST, character 1: host 'h2' is named twice"));
  EXPECT_THAT(refused({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "h{1,2}"}}),
              StartsWith("SLURM_JOB_NODELIST, character 1: expected the name"));
}

TEST(Slurm, AnEndThatIsNoNumberIsNoted) {
  const auto found = slurm_allocation(
      {{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "a"}, {"SLURM_JOB_END_TIME", "Unknown"}});
  EXPECT_EQ(found->end_time, std::nullopt);
  EXPECT_THAT(found->notes, ElementsAre(StartsWith("SLURM_JOB_END_TIME=Unknown is not used")));
}

}  // namespace
}  // namespace lockstep::launcher
