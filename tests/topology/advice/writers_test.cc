// Advice as shell lines, NCCL's file, JSON and an explanation; and what no writer writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/topology/advice/hosts_to_advise.h"
#include "topology/advice/hosts.h"
#include "topology/advice/writers.h"

namespace lockstep::topology::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

HostAdvice of_one(std::string variable, std::string value, std::string nccl = "2.28") {
  HostAdvice advice;
  advice.host = "a";
  advice.nccl = std::move(nccl);
  advice.settings = {{.variable = std::move(variable), .value = std::move(value), .reason = "so"}};
  return advice;
}

std::string refusal(const HostAdvice& advice, std::string (*write)(const HostAdvice&)) {
  try {
    return "written: " + write(advice);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

HostAdvice front_end_with_settings() {
  Host host = bonded_front_end();
  host.machine.system.settings = {{"NCCL_DEBUG", "WARN", "/etc/nccl.conf"},
                                  {"NCCL_IB_RETRY_CNT", "10", "environment"}};
  return advise_host(host);
}

TEST(WriteEnv, IsShellLinesWithTheirReasons) {
  EXPECT_EQ(write_env(front_end_with_settings()),
            R"(# lockstep tune: node7, NCCL 2.28
# NCCL uses every active port by itself, and would use mlx5_3, mlx5_9 too (high)
export NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11
# NCCL would find its peers over enp20s0, a link to a switch that reaches other hosts only if rails are routed (medium)
export NCCL_SOCKET_IFNAME==bond0
# kept: NCCL_DEBUG=WARN from /etc/nccl.conf, unjudged: nothing seen here speaks for it or against it
# kept: NCCL_IB_RETRY_CNT=10 from environment, harmful: 10 is out of range: 0 to 7
)");
}

TEST(WriteEnv, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_word("=mlx5_0,mlx5_1:1"), "=mlx5_0,mlx5_1:1");
  EXPECT_EQ(shell_word("^docker,lo"), "'^docker,lo'");
  EXPECT_EQ(shell_word("ring,tree;allreduce:^tree"), "'ring,tree;allreduce:^tree'");
  EXPECT_EQ(shell_word("$(reboot)`x`"), "'$(reboot)`x`'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("~/topo"), "'~/topo'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(WriteEnv, NoCommentCanBecomeACommand) {
  HostAdvice advice = of_one("NCCL_TOPO_FILE", "/a b.xml");
  advice.host = "host\nreboot";
  advice.settings[0].reason = "first\nrm -rf /";
  EXPECT_EQ(write_env(advice),
            "# lockstep tune: host reboot, NCCL 2.28\n# first rm -rf / (high)\n"
            "export NCCL_TOPO_FILE='/a b.xml'\n");
  EXPECT_THAT(refusal(of_one("A;reboot", "1"), write_env), HasSubstr("cannot be exported"));
}

TEST(WriteConf, IsWhatNcclConfFileTakes) {
  EXPECT_EQ(write_conf(front_end_with_settings()),
            R"(# lockstep tune: node7, NCCL 2.28
# NCCL uses every active port by itself, and would use mlx5_3, mlx5_9 too (high)
NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11
# NCCL would find its peers over enp20s0, a link to a switch that reaches other hosts only if rails are routed (medium)
NCCL_SOCKET_IFNAME==bond0
# kept: NCCL_DEBUG=WARN from /etc/nccl.conf, unjudged: nothing seen here speaks for it or against it
# kept: NCCL_IB_RETRY_CNT=10 from environment, harmful: 10 is out of range: 0 to 7
)");
}

TEST(WriteConf, RefusesWhatItsGrammarCannotHold) {
  EXPECT_THAT(refusal(of_one("NCCL_TOPO_FILE", std::string(1024, 'x')), write_conf),
              HasSubstr("1023 bytes each, found 14 and 1024"));
  EXPECT_THAT(refusal(of_one("NCCL_TOPO_FILE", std::string(1023, 'x')), write_conf),
              HasSubstr("written"));
  EXPECT_THAT(refusal(of_one("NCCL_TOPO_FILE", "a\nNCCL_DEBUG=INFO"), write_conf),
              HasSubstr("line break"));
  EXPECT_THAT(refusal(of_one("NCCL_TOPO_FILE", " /a"), write_conf), HasSubstr("no quoting"));
  EXPECT_THAT(refusal(of_one("#NCCL", "1"), write_conf), HasSubstr("begins a comment"));
  EXPECT_THAT(refusal(of_one("NCCL=A", "1"), write_conf), HasSubstr("has a '='"));
}

struct Refused {
  std::string variable, value, says;
};

class Writer : public testing::TestWithParam<Refused> {};

TEST_P(Writer, RefusesWhatWouldDoHarm) {
  const auto& [variable, value, says] = GetParam();
  EXPECT_THAT(refusal(of_one(variable, value), write_env), HasSubstr(says));
  EXPECT_THAT(refusal(of_one(variable, value), write_conf), HasSubstr(says));
  // What somebody else set is only mentioned.
  HostAdvice kept = of_one(variable, value);
  kept.settings[0].kept = true;
  EXPECT_THAT(refusal(kept, write_env), HasSubstr("written"));
}

INSTANTIATE_TEST_SUITE_P(
    All, Writer,
    testing::Values(Refused{"NCCL_IB_RETRY_CNT", "8", "NCCL_IB_RETRY_CNT=8 for host a is not"},
                    Refused{"NCCL_NET_GDR_LEVEL", "2", "set NCCL_NET_GDR_LEVEL=PXB"},
                    Refused{"NCCL_P2P_LEVEL", "3", "set NCCL_P2P_LEVEL=PHB"},
                    Refused{"NCCL_SOCKET_IFNAME", "^docker", "set NCCL_SOCKET_IFNAME=^docker,lo"},
                    Refused{"NCCL_IB_GID_INDEX", "3", "unset NCCL_IB_GID_INDEX"},
                    Refused{"NCCL_ALGO", "Ring,Star", "'Star' is none of"}));

TEST(WriteEnv, RefusesMoreConnectionsThanNcclAllows) {
  HostAdvice advice = of_one("NCCL_SOCKET_NTHREADS", "16");
  EXPECT_THAT(refusal(advice, write_env), HasSubstr("written"));
  advice.settings.push_back({.variable = "NCCL_NSOCKS_PERTHREAD", .value = "8", .reason = ""});
  EXPECT_THAT(refusal(advice, write_env), HasSubstr("128 connections"));
  // Together with a value that somebody else set, too.
  advice.settings[1].kept = true;
  EXPECT_THAT(refusal(advice, write_env), HasSubstr("128 connections"));
}

TEST(WriteEnv, WritesAGidIndexInTheDuplicateCaseAndForOldNccl) {
  HostAdvice advice = of_one("NCCL_IB_GID_INDEX", "5");
  advice.findings.push_back({.severity = Severity::warning,
                             .code = "duplicate-gid",
                             .message = "",
                             .where = "",
                             .remedy = ""});
  EXPECT_THAT(refusal(advice, write_env), HasSubstr("export NCCL_IB_GID_INDEX=5\n"));
  EXPECT_THAT(refusal(of_one("NCCL_IB_GID_INDEX", "3", "2.20"), write_env),
              HasSubstr("export NCCL_IB_GID_INDEX=3\n"));
}

TEST(WriteJson, FindingsOfAllHostsStandBesideThem) {
  const HostAdvice host = front_end_with_settings();
  const std::vector<Finding> of_all{{Severity::error, "host-not-reached", "gone", "b", "try"}};
  const auto json = nlohmann::json::parse(write_json({&host, 1}, of_all));
  ASSERT_EQ(json["findings"].size(), 1U);
  EXPECT_EQ(json["findings"][0]["severity"], "error");
  EXPECT_EQ(json["findings"][0]["where"], "b");
  EXPECT_TRUE(nlohmann::json::parse(write_json({&host, 1}))["findings"].empty());
}

TEST(WriteJson, HasTheContractsFields) {
  const HostAdvice host = front_end_with_settings();
  const auto json = nlohmann::json::parse(write_json({&host, 1}));
  EXPECT_EQ(json["version"], 1);
  const auto& first = json["hosts"][0];
  EXPECT_EQ(first["name"], "node7");
  EXPECT_EQ(first["nccl"], "2.28");
  ASSERT_EQ(first["settings"].size(), 4U);
  const auto& hca = first["settings"][0];
  EXPECT_EQ(hca["variable"], "NCCL_IB_HCA");
  EXPECT_EQ(hca["value"], "=mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11");
  EXPECT_EQ(hca["confidence"], "high");
  EXPECT_EQ(hca["kept"], false);
  EXPECT_TRUE(hca["reason"].is_string());
  EXPECT_TRUE(hca["evidence"].is_array());
  const auto& kept = first["settings"][3];
  EXPECT_EQ(kept["kept"], true);
  EXPECT_EQ(kept["origin"], "environment");
  EXPECT_EQ(kept["standing"], "harmful");
  EXPECT_TRUE(kept["advised"].is_null());
  ASSERT_EQ(first["rails"].size(), 8U);
  EXPECT_EQ(first["rails"][3]["gpu"], "GPU3");
  EXPECT_EQ(first["rails"][3]["nic"], "NIC5");
  EXPECT_EQ(first["rails"][3]["device"], "mlx5_5");
  EXPECT_EQ(first["left_out"].size(), 4U);
  EXPECT_EQ(first["findings"][0]["code"], "harmful-setting");
}

TEST(WriteJson, SurvivesTextThatIsNotUtf8) {
  HostAdvice host = of_one("NCCL_TOPO_FILE", "/\xff\xfe");
  EXPECT_EQ(nlohmann::json::parse(write_json({&host, 1}))["hosts"].size(), 1U);
}

TEST(Explain, TellsWhatIsSetKeptUsedAndLeftOut) {
  EXPECT_EQ(explain(front_end_with_settings()), R"(node7: NCCL 2.28

set
  NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11
      why: NCCL uses every active port by itself, and would use mlx5_3, mlx5_9 too (confidence high)
      - mlx5_3, mlx5_9: carries the bond bond0: a front-end network, not a rail
      - mlx5_4, mlx5_10: the port is down
      - rails: GPU0 mlx5_0, GPU1 mlx5_1, GPU2 mlx5_2, GPU3 mlx5_5, GPU4 mlx5_6, GPU5 mlx5_7, GPU6 mlx5_8, GPU7 mlx5_11
      - written with '=': without it mlx5_1 also matches mlx5_10 and mlx5_11
  NCCL_SOCKET_IFNAME==bond0
      why: NCCL would find its peers over enp20s0, a link to a switch that reaches other hosts only if rails are routed (confidence medium)
      - NCCL's own choice: enp20s0 (10.0.91.9/31)
      - reaches other hosts: bond0 (10.1.7.7/29)

kept, as it was set before
  NCCL_DEBUG=WARN
      from /etc/nccl.conf: unjudged: nothing seen here speaks for it or against it
  NCCL_IB_RETRY_CNT=10
      from environment: harmful: 10 is out of range: 0 to 7

rails
  GPU0  NIC0 mlx5_0 (PIX)
  GPU1  NIC1 mlx5_1 (PIX)
  GPU2  NIC2 mlx5_2 (PIX)
  GPU3  NIC5 mlx5_5 (PIX)
  GPU4  NIC6 mlx5_6 (PIX)
  GPU5  NIC7 mlx5_7 (PIX)
  GPU6  NIC8 mlx5_8 (PIX)
  GPU7  NIC11 mlx5_11 (PIX)

left out
  NIC3 mlx5_3: carries the bond bond0: a front-end network, not a rail
  NIC4 mlx5_4: the port is down
  NIC9 mlx5_9: carries the bond bond0: a front-end network, not a rail
  NIC10 mlx5_10: the port is down

not set
  NCCL_IB_TC: RoCE loses packets unless its traffic class is the one the switches keep lossless: ask who runs them for its DSCP d and set 4*d (plus 1 or 2 for ECN)

findings
  warning: NCCL_IB_RETRY_CNT=10: 10 is out of range: 0 to 7 [environment]; unset NCCL_IB_RETRY_CNT
)");
}

TEST(Explain, SaysInWordsThatNothingIsNeeded) {
  EXPECT_EQ(explain(advise_host(workstation_host())), R"(desk: NCCL 2.28

Nothing needs to be set: NCCL's defaults are right here.
)");
}

TEST(Hosts, OneValueForAllIsRefusedWhereHostsNeedTheirOwn) {
  Host sister = bonded_front_end();
  sister.machine.name = "node8";
  std::swap(sister.machine.nics[0].name, sister.machine.nics[3].name);
  const std::vector<HostAdvice> hosts = {advise_host(bonded_front_end()), advise_host(sister)};
  ASSERT_EQ(disagreements(hosts).size(), 1U);
  EXPECT_EQ(disagreements(hosts)[0].variable, "NCCL_IB_HCA");
  try {
    (void)for_all_hosts(hosts);
    FAIL() << "one list was given for hosts that need two";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("NCCL_IB_HCA is =mlx5_0,mlx5_1"));
    EXPECT_THAT(error.what(), HasSubstr("on node8"));
  }
}

TEST(Hosts, AValueThatOneHostMustNotHaveIsADisagreement) {
  HostAdvice with = of_one("NCCL_TOPO_FILE", "/t.xml"), without = of_one("NCCL_X", "1");
  without.settings.clear();
  without.host = "b";
  const std::vector<HostAdvice> hosts = {with, without};
  EXPECT_THROW((void)for_all_hosts(hosts), std::invalid_argument);
}

TEST(Hosts, OneValueServesSistersThatAreAlike) {
  HostAdvice other = advise_host(bonded_front_end());
  other.host = "node8";
  const std::vector<HostAdvice> hosts = {advise_host(bonded_front_end()), other};
  EXPECT_THAT(disagreements(hosts), IsEmpty());
  EXPECT_EQ(for_all_hosts(hosts).host, "all hosts");
  EXPECT_THAT(write_env(for_all_hosts(hosts)), HasSubstr("export NCCL_IB_HCA==mlx5_0,"));
}

}  // namespace
}  // namespace lockstep::topology::test
