// Hosts as PBS, LSF, SGE, Cobalt and LoadLeveler name them.
#include "launcher/hosts/batch_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/launcher/hosts/readable_hosts.h"

namespace lockstep::launcher {
namespace {

using testing::StartsWith;

std::string read(std::string_view text, BatchFormat format) {
  return shown(read_batch_hosts({LocatedText::Kind::kFile, "nodes", text}, format));
}

std::string refused(std::string_view text, BatchFormat format) {
  return refusal([&] { (void)read(text, format); });
}

TEST(BatchFiles, ALineIsASlot) {
  EXPECT_EQ(read("n1\nn1\nn2.example.com\nn1\n", BatchFormat::kLineASlot), "n1:3 n2.example.com:1");
  EXPECT_THAT(refused("n1 2\n", BatchFormat::kLineASlot),
              StartsWith("nodes:1:4: expected one host"));
  EXPECT_EQ(refused("\n", BatchFormat::kLineASlot), "nodes: names no host; expected at least one");
}

TEST(BatchFiles, OrALineIsAHost) {
  EXPECT_EQ(read("n1\r\nn2\r\n", BatchFormat::kLineAHost), "n1 n2");
  EXPECT_THAT(refused("n1\nn1\n", BatchFormat::kLineAHost),
              StartsWith("nodes:2:1: host 'n1' is named twice, first at nodes:1:1"));
}

TEST(BatchFiles, OfColumnsTheFirstTwoCount) {
  EXPECT_EQ(read("n1 4 all.q@n1 UNDEFINED\nn2 2 all.q@n2 0,0:0,1\nn1 1 other.q@n1 UNDEFINED\n",
                 BatchFormat::kColumns),
            "n1:5 n2:2");
  EXPECT_THAT(refused("n1\n", BatchFormat::kColumns),
              StartsWith("nodes:1:1: expected 'host slots'"));
  EXPECT_THAT(refused("n1 x q\n", BatchFormat::kColumns),
              StartsWith("nodes:1:4: expected a number"));
}

TEST(BatchFiles, PairsOfAValue) {
  EXPECT_EQ(read("h1 2 h2 16", BatchFormat::kPairsValue), "h1:2 h2:16");
  EXPECT_THAT(refused("h1 2 h2", BatchFormat::kPairsValue),
              StartsWith("nodes:1:6: expected pairs"));
  EXPECT_THAT(refused("h1 0", BatchFormat::kPairsValue),
              StartsWith("nodes:1:4: expected a number"));
}

TEST(BatchFiles, EverySystemOfTheTableIsFoundByItsVariable) {
  const FileReader read_file = [](const std::string& path, const std::string& name) {
    EXPECT_THAT(name, testing::EndsWith("=/spool/" + path.substr(7)));
    return std::string(path == "/spool/PE_HOSTFILE" ? "n1 2 q -\n" : "n1\nn2\n");
  };
  for (const BatchSystem& system : batch_systems()) {
    Environment environment{{std::string(system.job), "42.server"}};
    const std::string variable(system.variable);
    environment[variable] =
        system.format == BatchFormat::kPairsValue ? "n1 2" : "/spool/" + variable;
    const Allocation found = find_hosts({}, environment, read_file);
    EXPECT_EQ(found.source, std::string(system.name) + " job 42.server");
    EXPECT_EQ(found.job_id, "42.server");
    EXPECT_EQ(found.origin, Allocation::Origin::kBatchSystem);
    EXPECT_EQ(found.start, Allocation::Start::kSsh);
    EXPECT_EQ(found.hosts[0].name, "n1") << variable;
  }
}

}  // namespace
}  // namespace lockstep::launcher
