// What is set already: where it may be set, whose value wins, and how it is judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/topology/advice/hosts_to_advise.h"
#include "tests/topology/corpus.h"
#include "topology/advice/settings.h"
#include "topology/advice/variables.h"

namespace lockstep::topology::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Host with_settings(Host host, std::vector<Setting> settings) {
  host.machine.system.settings = std::move(settings);
  return host;
}

const Advice* kept(const HostAdvice& advice, std::string_view variable) {
  const Advice* found = find(advice, variable);
  return found != nullptr && found->kept ? found : nullptr;
}

std::string message_of(const HostAdvice& advice, std::string_view code) {
  for (const Finding& finding : advice.findings) {
    if (finding.code == code) return finding.message;
  }
  return {};
}

constexpr std::string_view kRightList = "=mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11";

class KeptSetting : public testing::TestWithParam<std::string> {};

TEST_P(KeptSetting, IsKeptWhereverItIsSetAndItsPlaceIsNamed) {
  const auto advice = advise_host(
      with_settings(bonded_front_end(), {{"NCCL_IB_HCA", std::string(kRightList), GetParam()}}));
  const Advice* hca = kept(advice, "NCCL_IB_HCA");
  ASSERT_NE(hca, nullptr);
  EXPECT_EQ(hca->origin, GetParam());
  EXPECT_EQ(hca->standing, Standing::agrees);
  EXPECT_THAT(newly_set(advice), Not(Contains("NCCL_IB_HCA")));
}

INSTANTIATE_TEST_SUITE_P(Origins, KeptSetting,
                         testing::Values("launcher's environment", "environment", "/job/nccl.conf",
                                         "/home/someone/.nccl.conf", "/etc/nccl.conf"));

TEST(Settings, TheFirstWinsAndTheHiddenOneIsNamed) {
  const auto advice = advise_host(
      with_settings(workstation_host(), {{"NCCL_DEBUG", "INFO", "environment"},
                                         {"NCCL_DEBUG", "WARN", "/etc/nccl.conf"},
                                         {"NCCL_BUFFSIZE", "8388608", "/etc/nccl.conf"}}));
  ASSERT_EQ(advice.settings.size(), 2U);
  EXPECT_EQ(advice.settings[0].value, "INFO");
  EXPECT_EQ(advice.settings[0].standing, Standing::unjudged);
  EXPECT_EQ(message_of(advice, "hidden-setting"),
            "NCCL_DEBUG=WARN has no effect: environment sets it to INFO");
}

TEST(Settings, AListOfOtherDevicesDiffersAndIsKept) {
  const auto advice = advise_host(
      with_settings(bonded_front_end(), {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1", "/etc/nccl.conf"}}));
  const Advice* hca = kept(advice, "NCCL_IB_HCA");
  ASSERT_NE(hca, nullptr);
  EXPECT_EQ(hca->standing, Standing::differs);
  EXPECT_EQ(hca->value, "=mlx5_0,mlx5_1");
  EXPECT_EQ(hca->advised, kRightList);
}

TEST(Settings, AnExclusionThatLeavesTheSamePortsAgrees) {
  const auto advice = advise_host(
      with_settings(bonded_front_end(), {{"NCCL_IB_HCA", "^=mlx5_3,mlx5_9", "environment"}}));
  ASSERT_NE(kept(advice, "NCCL_IB_HCA"), nullptr);
  EXPECT_EQ(kept(advice, "NCCL_IB_HCA")->standing, Standing::agrees);
}

TEST(Settings, AnUnprefixedListIsWarnedOf) {
  const auto advice = advise_host(with_settings(
      bonded_front_end(), {{"NCCL_IB_HCA", std::string(kRightList.substr(1)), "environment"}}));
  const Advice* hca = kept(advice, "NCCL_IB_HCA");
  ASSERT_NE(hca, nullptr);
  EXPECT_EQ(hca->standing, Standing::harmful);
  EXPECT_THAT(message_of(advice, "harmful-setting"),
              HasSubstr("mlx5_1 also matches mlx5_10 and mlx5_11"));
}

TEST(Settings, APrefixThatIsMeantAsOneIsNotWarnedOf) {
  for (const char* value : {"mlx5", "mlx5_"}) {
    const auto advice =
        advise_host(with_settings(small_roce(), {{"NCCL_IB_HCA", value, "environment"}}));
    ASSERT_NE(kept(advice, "NCCL_IB_HCA"), nullptr);
    EXPECT_EQ(kept(advice, "NCCL_IB_HCA")->standing, Standing::unjudged) << value;
  }
}

TEST(Settings, ADeviceOfAnotherHostIsNamed) {
  const auto advice =
      advise_host(with_settings(small_roce(), {{"NCCL_IB_HCA", "=mlx5_0,mlx5_7", "environment"}}));
  EXPECT_THAT(message_of(advice, "harmful-setting"),
              HasSubstr("mlx5_7 is no RDMA device of this host"));
}

TEST(Settings, AMisspeltVariableIsAnsweredWithTheRightOne) {
  for (const auto& [wrong, right] : {std::pair("NCCL_SOCKET_IFNAMES", "NCCL_SOCKET_IFNAME"),
                                     {"NCCL_IB_HCAS", "NCCL_IB_HCA"},
                                     {"NCCL_NSOCKS", "NCCL_NSOCKS_PERTHREAD"},
                                     {"NCCL_P2P_DISABLED", "NCCL_P2P_DISABLE"}}) {
    const auto advice =
        advise_host(with_settings(workstation_host(), {{wrong, "1", "environment"}}));
    EXPECT_THAT(message_of(advice, "unknown-variable"),
                HasSubstr("did you mean " + std::string(right) + "?"))
        << wrong;
  }
}

TEST(Settings, ABlankInANameIsSeen) {
  const auto advice =
      advise_host(with_settings(workstation_host(), {{"NCCL_DEBUG ", " INFO", "/etc/nccl.conf"}}));
  EXPECT_THAT(message_of(advice, "unknown-variable"), HasSubstr("[NCCL_DEBUG ]"));
}

TEST(Settings, AVariableOfANewerNcclHasNoEffect) {
  AdviceOptions options;
  options.nccl = "2.27";
  const auto advice = advise_host(
      with_settings(workstation_host(), {{"NCCL_NETDEVS_POLICY", "AUTO", "environment"}}), options);
  EXPECT_THAT(message_of(advice, "ineffective-variable"), HasSubstr("2.28 does"));
  options.nccl = "2.28";
  EXPECT_FALSE(has_finding(advise_host(with_settings(workstation_host(), {{"NCCL_NETDEVS_POLICY",
                                                                           "AUTO", "environment"}}),
                                       options),
                           "ineffective-variable"));
}

TEST(Settings, TheLibrarysOwnNamesAreBelievedBeforeTheTable) {
  AdviceOptions options;
  options.known_variables = {"NCCL_OF_TOMORROW"};
  const auto advice = advise_host(
      with_settings(workstation_host(), {{"NCCL_OF_TOMORROW", "1", "environment"}}), options);
  EXPECT_THAT(advice.findings, IsEmpty());
}

TEST(Settings, WhatOthersThanNcclReadIsNotJudged) {
  const auto advice = advise_host(
      with_settings(workstation_host(), {{"NCCL_FASTRAK_IFNAME", "enp6s0", "environment"},
                                         {"NCCL_ASYNC_ERROR_HANDLING", "1", "environment"},
                                         {"PATH", "/bin", "environment"}}));
  EXPECT_THAT(advice.settings, IsEmpty());
  EXPECT_THAT(advice.findings, IsEmpty());
}

TEST(Settings, OfTheProviderAreLeftAlone) {
  Host host = with_settings(small_roce(), {{"NCCL_IB_GID_INDEX", "3", "/etc/nccl.conf"},
                                           {"NCCL_IB_TC", "41", "/etc/nccl.conf"}});
  EXPECT_EQ(kept(advise_host(host), "NCCL_IB_GID_INDEX")->standing, Standing::harmful);
  host.machine.system.provider = Provider::oci;
  const auto advice = advise_host(host);
  EXPECT_EQ(kept(advice, "NCCL_IB_GID_INDEX")->standing, Standing::provider);
  EXPECT_EQ(kept(advice, "NCCL_IB_TC")->standing, Standing::provider);
  EXPECT_THAT(advice.findings, IsEmpty());
}

// NAME=VALUE lines, as NCCL reads its files.
std::vector<Setting> settings_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<Setting> settings;
  for (std::string line; std::getline(in, line);) {
    const auto equal = line.find('=');
    if (line.empty() || line[0] == '#' || equal == std::string::npos) continue;
    settings.push_back({line.substr(0, equal), line.substr(equal + 1), file.string()});
  }
  return settings;
}

TEST(Settings, PublishedOnesOfProvidersRaiseNoAlarmOnTheirMachines) {
  const std::filesystem::path folder = test::corpus_folder() / "settings";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "SKIPPED: the recordings are not here: " << folder;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".md") continue;
    const std::string name = entry.path().filename().string();
    Machine machine;
    machine.system.provider = name.starts_with("aws")   ? Provider::aws
                              : name.starts_with("gcp") ? Provider::gcp
                              : name.starts_with("oci") ? Provider::oci
                                                        : Provider::azure;
    machine.system.settings = settings_of(entry.path());
    ASSERT_FALSE(machine.system.settings.empty()) << name;
    const auto advice = advise(machine, PathTable({}), {});
    for (const Finding& finding : advice.findings) ADD_FAILURE() << name << ": " << finding.message;
    for (const Advice& one : advice.settings) EXPECT_TRUE(one.kept) << name << ": " << one.variable;
    ++files;
  }
  EXPECT_GT(files, 0);
}

struct Harmful {
  std::string variable, value, says;
};

class HarmfulSetting : public testing::TestWithParam<Harmful> {};

TEST_P(HarmfulSetting, IsKeptAndItsHarmIsNamed) {
  const auto& [variable, value, says] = GetParam();
  const auto advice =
      advise_host(with_settings(hgx_h100_host(), {{variable, value, "environment"}}));
  ASSERT_NE(kept(advice, variable), nullptr);
  EXPECT_EQ(kept(advice, variable)->standing, Standing::harmful);
  EXPECT_THAT(message_of(advice, "harmful-setting"), HasSubstr(says));
}

INSTANTIATE_TEST_SUITE_P(
    All, HarmfulSetting,
    testing::Values(
        Harmful{"NCCL_IB_RETRY_CNT", "10", "0 to 7"}, Harmful{"NCCL_IB_TIMEOUT", "32", "1 to 31"},
        Harmful{"NCCL_NET_GDR_LEVEL", "3", "3 is PHB"}, Harmful{"NCCL_P2P_LEVEL", "5", "5 is SYS"},
        Harmful{"NCCL_P2P_LEVEL", "NVLINK", "none of"},
        Harmful{"NCCL_SOCKET_IFNAME", "^docker0", "admits lo"},
        Harmful{"NCCL_SOCKET_IFNAME", "=eth7", "admits no interface"},
        Harmful{"NCCL_IB_GID_INDEX", "3", "the GID of each port by itself"},
        Harmful{"NCCL_ALGO", "ring,trees", "'trees' is none of"},
        Harmful{"NCCL_ALGO", "ring;allsum:tree", "'allsum' is no collective"},
        Harmful{"NCCL_PROTO", "simple,ll64", "'ll64' is none of"},
        Harmful{"NCCL_PROTO", "LL128", "corrupt"}, Harmful{"NCCL_IB_DISABLE", "1", "active ports"},
        Harmful{"NCCL_P2P_DISABLE", "1", "NVLink"},
        Harmful{"NCCL_IB_HCA", "=mlx5_99", "no usable RDMA port"},
        Harmful{"NCCL_CROSS_NIC", "yes", "no whole number"},
        Harmful{"NCCL_SOCKET_FAMILY", "\"AF_INET\"", "no quoting"}));

class RemediedSetting
    : public testing::TestWithParam<std::pair<std::pair<std::string, std::string>, std::string>> {};

TEST_P(RemediedSetting, HasOneRemedyAndItsSentenceNamesNone) {
  const auto& [setting, remedy] = GetParam();
  const auto advice =
      advise_host(with_settings(hgx_h100_host(), {{setting.first, setting.second, "environment"}}));
  std::vector<std::string> remedies;
  for (const Finding& finding : advice.findings) {
    remedies.push_back(finding.remedy);
    for (const char* word : {"unset", "write", "add ,lo"})
      EXPECT_EQ(finding.message.find(word), std::string::npos) << finding.message;
  }
  EXPECT_THAT(remedies, testing::ElementsAre(remedy));
}

INSTANTIATE_TEST_SUITE_P(
    All, RemediedSetting,
    testing::Values(std::pair(std::pair("NCCL_SOCKET_IFNAME", "^docker0"),
                              "set NCCL_SOCKET_IFNAME=^docker0,lo"),
                    std::pair(std::pair("NCCL_NET_GDR_LEVEL", "2"), "set NCCL_NET_GDR_LEVEL=PXB"),
                    std::pair(std::pair("NCCL_SOCKET_FAMILY", "'AF_INET'"),
                              "set NCCL_SOCKET_FAMILY=AF_INET"),
                    std::pair(std::pair("NCCL_IB_TIMEOUT", "\"99\""), "unset NCCL_IB_TIMEOUT"),
                    std::pair(std::pair("NCCL_IB_GID_INDEX", "3"), "unset NCCL_IB_GID_INDEX"),
                    std::pair(std::pair("NCCL_P2P_LEVEL", "NVLINK"), "unset NCCL_P2P_LEVEL")));

TEST(Settings, OfAFileAloneAreNotCalledHarmfulWhereAProviderMaySetThem) {
  Machine machine;
  machine.system.settings = {{"NCCL_IB_GID_INDEX", "3", "nccl.conf"},
                             {"NCCL_IB_TIMEOUT", "99", "nccl.conf"},
                             {"NCCL_DEBUG", "WARN", "nccl.conf"}};
  const auto advice = advise(machine, PathTable({}), {});
  EXPECT_EQ(kept(advice, "NCCL_IB_GID_INDEX")->standing, Standing::unjudged);
  EXPECT_THAT(
      kept(advice, "NCCL_IB_GID_INDEX")->reason,
      testing::AllOf(HasSubstr("right on machines of OCI"), HasSubstr("elsewhere NCCL 2.21")));
  EXPECT_TRUE(has_finding(advice, "provider-unknown"));
  EXPECT_EQ(kept(advice, "NCCL_IB_TIMEOUT")->standing, Standing::harmful) << "wrong everywhere";
  EXPECT_THAT(kept(advice, "NCCL_DEBUG")->reason, HasSubstr("only settings were read"));
  machine.system.product = "PowerEdge XE9680";
  EXPECT_EQ(kept(advise(machine, PathTable({}), {}), "NCCL_IB_GID_INDEX")->standing,
            Standing::harmful)
      << "a known machine of no provider";
}

TEST(Settings, OfTheProviderAreRecognisedByTheirOwnContent) {
  const auto standing = [](std::vector<Setting> settings, std::string_view variable) {
    Machine machine;
    machine.system.settings = std::move(settings);
    return kept(advise(machine, PathTable({}), {}), variable)->standing;
  };
  const std::vector<Setting> azure{{"NCCL_IB_PCI_RELAXED_ORDERING", "1", "f"},
                                   {"NCCL_TOPO_FILE", "/opt/microsoft/ndv5/topo.xml", "f"},
                                   {"NCCL_IGNORE_CPU_AFFINITY", "1", "f"}};
  for (const Setting& one : azure) EXPECT_EQ(standing(azure, one.variable), Standing::provider);
  const std::vector<Setting> oci{{"NCCL_IB_SL", "0", "f"},
                                 {"NCCL_IB_TC", "41", "f"},
                                 {"NCCL_IB_GID_INDEX", "3", "f"},
                                 {"NCCL_IB_HCA", "=mlx5_0,mlx5_3", "f"}};
  for (const Setting& one : oci) EXPECT_EQ(standing(oci, one.variable), Standing::provider);
  EXPECT_EQ(standing({{"FI_PROVIDER", "efa", "f"}, {"NCCL_PROTO", "simple", "f"}}, "NCCL_PROTO"),
            Standing::provider);
}

class HarmlessSetting : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(HarmlessSetting, IsKeptWithoutAFinding) {
  const auto& [variable, value] = GetParam();
  Host host = with_settings(hgx_h100_host(), {{variable, value, "environment"}});
  host.machine.nics.pop_back();
  const auto advice = advise_host(host);
  ASSERT_NE(kept(advice, variable), nullptr);
  EXPECT_EQ(kept(advice, variable)->standing, Standing::unjudged);
  EXPECT_THAT(advice.findings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, HarmlessSetting,
    testing::Values(std::pair("NCCL_IB_RETRY_CNT", "7"), std::pair("NCCL_IB_TIMEOUT", "22"),
                    std::pair("NCCL_NET_GDR_LEVEL", "SYS"), std::pair("NCCL_P2P_LEVEL", "nvl"),
                    std::pair("NCCL_SOCKET_IFNAME", "^docker,lo"),
                    std::pair("NCCL_SOCKET_IFNAME", "ib"), std::pair("NCCL_IB_GID_INDEX", "-1"),
                    std::pair("NCCL_ALGO", "ring,tree;allreduce:^tree"),
                    std::pair("NCCL_PROTO", "^LL128"), std::pair("NCCL_PROTO", "Simple"),
                    std::pair("NCCL_IB_DISABLE", "0"), std::pair("NCCL_DEBUG", "info"),
                    std::pair("NCCL_TOPO_FILE", "/opt/topo.xml")));

TEST(Settings, ThreadsTimesSocketsAreWeighedTogether) {
  const auto host = [](std::string sockets) {
    return with_settings(workstation_host(),
                         {{"NCCL_SOCKET_NTHREADS", "8", "environment"},
                          {"NCCL_NSOCKS_PERTHREAD", std::move(sockets), "/etc/nccl.conf"}});
  };
  EXPECT_FALSE(has_finding(advise_host(host("8")), "harmful-setting"));
  EXPECT_THAT(message_of(advise_host(host("16")), "harmful-setting"),
              HasSubstr("128 connections, and NCCL allows 64"));
}

TEST(Variables, TheTableIsSortedAndKnowsTheVersions) {
  const auto all = variables();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
  const auto exists = [](std::string_view name, NcclVersion version) {
    const Variable* variable = find_variable(name);
    return variable != nullptr && exists_in(*variable, version);
  };
  EXPECT_TRUE(exists("NCCL_IB_HCA", {2, 19, 0}));
  EXPECT_FALSE(exists("NCCL_IB_ADDR_RANGE", {2, 20, 5}));
  EXPECT_TRUE(exists("NCCL_IB_ADDR_RANGE", {2, 21, 0}));
  EXPECT_FALSE(exists("NCCL_SHM_USE_CUDA_MEMCPY", {2, 29, 0}));
  EXPECT_EQ(find_variable("NCCL_NSOCKS"), nullptr);
  EXPECT_EQ(nearest_variable("COMPLETELY_ELSE"), std::nullopt);
  EXPECT_EQ(nearest_variable("NCCL_FOO"), std::nullopt);
  EXPECT_EQ(nearest_variable("NCCL_IB_GID_INDX"), "NCCL_IB_GID_INDEX");
}

TEST(NcclVersion, IsReadAsPackagesWriteIt) {
  EXPECT_EQ(parse_nccl_version("2.28.9"), (NcclVersion{2, 28, 9}));
  EXPECT_EQ(parse_nccl_version("2.28.9-1"), (NcclVersion{2, 28, 9}));
  EXPECT_EQ(parse_nccl_version("2.28.9+cuda13.0"), (NcclVersion{2, 28, 9}));
  EXPECT_GT(*parse_nccl_version("2.26"), (NcclVersion{2, 26, 5}));
  for (const char* text : {"", "2", "2.", "2.x", "2.28.9.1", "-2.28", "2.99999"}) {
    EXPECT_EQ(parse_nccl_version(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace lockstep::topology::test
