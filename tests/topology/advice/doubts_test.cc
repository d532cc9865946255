// How far advice is trusted whose recordings may not be of one host.
#include "topology/advice/doubts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/advice/hosts_to_advise.h"

namespace lockstep::topology {
namespace {

using testing::Contains;

Finding finding(Severity severity, const std::string& code) {
  return {
      .severity = severity, .code = code, .message = "as it was said", .where = "", .remedy = ""};
}

TEST(Doubts, AdviceOfDifferentHostsIsOfLowConfidence) {
  test::Host host = test::hgx_h100_host();
  ASSERT_EQ(test::find(test::advise_host(host), "NCCL_IB_HCA")->confidence, Confidence::high);
  host.machine.findings = {finding(Severity::warning, "different-hosts")};
  const HostAdvice advice = test::advise_host(host);
  ASSERT_FALSE(advice.settings.empty());
  for (const Advice& one : advice.settings) {
    EXPECT_EQ(one.confidence, Confidence::low) << one.variable;
    EXPECT_THAT(one.evidence, Contains("as it was said")) << one.variable;
  }
}

TEST(Doubts, AMatrixThatLacksAdaptersMakesTheirListLessSure) {
  std::vector<Advice> advice{{.variable = "NCCL_IB_HCA", .value = "=mlx5_0", .reason = "r"},
                             {.variable = "NCCL_SOCKET_IFNAME", .value = "=eth0", .reason = "r"}};
  Machine machine;
  machine.findings = {finding(Severity::info, "adapters-missing")};
  doubt(machine, advice);
  EXPECT_EQ(advice[0].confidence, Confidence::medium);
  EXPECT_EQ(advice[1].confidence, Confidence::high);
  doubt(machine, advice);
  EXPECT_EQ(advice[0].confidence, Confidence::low);
}

}  // namespace
}  // namespace lockstep::topology
