// Lists of hosts as Slurm writes them.
#include "topology/host_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace lockstep::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::string expanded(std::string_view list) {
  return fmt::format("{}", fmt::join(expand_host_list(list, 65'536), " "));
}

std::string fault(std::string_view list) {
  try {
    (void)expand_host_list(list, 1000);
  } catch (const HostListError& error) {
    return error.what();
  }
  return "it was read";
}

TEST(HostList, RangesKeepTheirWidth) {
  EXPECT_THAT(expand_host_list("host[1-3,07-12]", 100),
              ElementsAre("host1", "host2", "host3", "host07", "host08", "host09", "host10",
                          "host11", "host12"));
  EXPECT_THAT(expand_host_list("n[08-10]", 100), ElementsAre("n08", "n09", "n10"));
  EXPECT_THAT(expand_host_list("n[99-101]", 100), ElementsAre("n99", "n100", "n101"));
}

TEST(HostList, SeveralBracketsAndElements) {
  EXPECT_THAT(expand_host_list("login,r[1-2]n[01-02]-ib,x", 100),
              ElementsAre("login", "r1n01-ib", "r1n02-ib", "r2n01-ib", "r2n02-ib", "x"));
  EXPECT_THAT(expand_host_list("[1-2]", 100), ElementsAre("1", "2"));
  EXPECT_THAT(expand_host_list("", 100), IsEmpty());
}

TEST(HostList, RefusesDamage) {
  for (const char* list : {"a,",     "a, ",
                           "n[1-",   "n[1--2]",
                           "n[]",    "n[a-c]",
                           "n[1:3]", "n[1-9:2]",
                           "n[ 1]",  "a[1",
                           "a1]",    "a[[1]]",
                           "a[]",    "a[1-]",
                           "a[3-1]", "a[x]",
                           "a[1,]",  "a,,b",
                           ",a",     "a[1--2]",
                           "a[-1]",  "a[1-99999999999]",
                           "a]1["}) {
    EXPECT_THAT(fault(list), StartsWith("expected ")) << list;
  }
}

TEST(HostList, BombsAreRefusedBeforeTheyGoOff) {
  for (const char* list : {"a[0-4294967295]", "a[1-1001]", "a[1-100]b[1-100]", "a[1-600],b[1-600]",
                           "a[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]"}) {
    EXPECT_EQ(fault(list), "a list of more than 1000 hosts") << list;
  }
  EXPECT_EQ(fault(fmt::format("{}[1-900]", std::string(1 << 20, 'a'))),
            "a host's name of more than 255 bytes");
}

// Each with what `scontrol show hostnames` of Slurm 22.05.8 makes of it.
struct Example {
  std::string_view list, names;
};
constexpr Example kExamples[] = {
    {"tux[0-5,12,20-25]",
     "tux0 tux1 tux2 tux3 tux4 tux5 tux12 tux20 tux21 tux22 tux23 tux24 tux25"},
    {"linux[0000-0003]", "linux0000 linux0001 linux0002 linux0003"},
    {"n[9-11]", "n9 n10 n11"},
    {"n[09-11]", "n09 n10 n11"},
    {"n[08-10]", "n08 n09 n10"},
    {"n[001-003,5]", "n001 n002 n003 n5"},
    {"gpu-a[01-02,5],login1", "gpu-a01 gpu-a02 gpu-a5 login1"},
    {"n[01-02],n[1-2]", "n01 n02 n1 n2"},
    {"rack[0-1]node[01-02]", "rack0node01 rack0node02 rack1node01 rack1node02"},
    {"a[0-1]b[0-1]c[0-1]", "a0b0c0 a0b0c1 a1b0c0 a1b0c1 a0b1c0 a0b1c1 a1b1c0 a1b1c1"},
    {"10.0.0.[1-3]", "10.0.0.1 10.0.0.2 10.0.0.3"},
    {"[1-3]", "1 2 3"},
    {"node[1-3],node2", "node1 node2 node3 node2"},
    {"n[1,1]", "n1 n1"},
    {"n1-3", "n1-3"},
    {"n[3,1-2]", "n3 n1 n2"},
    {"n[1,01,2]", "n1 n01 n2"},
};

TEST(HostList, ExpandsAsSlurmDoes) {
  for (const auto& [list, names] : kExamples) EXPECT_EQ(expanded(list), names) << list;
}

TEST(HostList, BlanksSeparateToo) {
  EXPECT_EQ(expanded("a b\tc\n n[1,2] , d\n"), "a b c n1 n2 d");
  EXPECT_THAT(expand_host_list(" \n", 10), IsEmpty());
}

TEST(HostList, TextMayFollowTheLastBracket) {
  EXPECT_EQ(expanded("n[1-3]-ib"), "n1-ib n2-ib n3-ib");
  EXPECT_EQ(expanded("h[1-2].example.com"), "h1.example.com h2.example.com");
}

TEST(HostList, ARangeHasAtMost65536Numbers) {
  EXPECT_THAT(expand_host_list("n[0-65535]", 1'000'000), SizeIs(65'536));
  try {
    (void)expand_host_list("n[0-65536]", 1'000'000);
    FAIL() << "it was read";
  } catch (const HostListError& error) {
    EXPECT_STREQ(error.what(), "expected a range of at most 65536 numbers, found \"0-65536\"");
  }
}

// scontrol wants a slurm.conf, and exits 0 whatever it is given.
TEST(HostList, SlurmItselfAgrees) {
  if (std::system("command -v scontrol >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "SKIPPED: no scontrol here (slurm-client)";
  const auto folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("lockstep-host-list-{}", ::getpid());
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "slurm.conf")
      << "ClusterName=test\nSlurmctldHost=localhost\nNodeName=localhost\n"
         "PartitionName=p Nodes=localhost\n";
  for (const auto& [list, names] : kExamples) {
    const std::string command =
        fmt::format("SLURM_CONF='{}' scontrol show hostnames '{}' >'{}' 2>&1",
                    (folder / "slurm.conf").string(), list, (folder / "out").string());
    ASSERT_EQ(std::system(command.c_str()), 0);
    std::string words, word;
    for (std::ifstream file(folder / "out"); file >> word;)
      words += fmt::format("{}{}", words.empty() ? "" : " ", word);
    EXPECT_EQ(words, names) << list;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep::topology
