// --include and --exclude.
#include "launcher/hosts/host_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/launcher/hosts/readable_hosts.h"

namespace lockstep::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

Allocation allocation() {
  HostRequest request;
  request.hosts = "a:4,b:2,c";
  return find_hosts(request, {}, nullptr);
}

Allocation filtered(Filter filter, std::string_view value) {
  Allocation found = allocation();
  apply_filter(found, filter, value);
  return found;
}

std::string refused(Filter filter, std::string_view value) {
  return refusal([&] { (void)filtered(filter, value); });
}

TEST(HostFilter, IncludeKeepsTheHostsInTheirOrder) {
  EXPECT_EQ(shown(filtered(Filter::kInclude, "c@a").hosts), "a:4 c");
  EXPECT_EQ(filtered(Filter::kInclude, "c@a").hosts[0].devices, DeviceChoice{});
}

TEST(HostFilter, IncludeKeepsDevicesInTheOrderGiven) {
  const Allocation found = filtered(Filter::kInclude, "a:3,0@c:7");
  ASSERT_EQ(shown(found.hosts), "a:4 c");
  EXPECT_EQ(found.hosts[0].devices.kind, DeviceChoice::Kind::kOnly);
  EXPECT_THAT(found.hosts[0].devices.indices, ElementsAre(3, 0));
  EXPECT_THAT(found.hosts[1].devices.indices, ElementsAre(7));
}

TEST(HostFilter, ExcludeLeavesOutHostsAndDevices) {
  const Allocation found = filtered(Filter::kExclude, "a:1@c");
  ASSERT_EQ(shown(found.hosts), "a:4 b:2");
  EXPECT_EQ(found.hosts[0].devices.kind, DeviceChoice::Kind::kAllBut);
  EXPECT_THAT(found.hosts[0].devices.indices, ElementsAre(1));
  EXPECT_THAT(found.hosts[1].devices.indices, IsEmpty());
  EXPECT_EQ(shown(filtered(Filter::kExclude, "b:0,1").hosts), "a:4 c");
}

TEST(HostFilter, DamageIsRefusedAtItsCharacter) {
  const auto include = [](std::string_view value) { return refused(Filter::kInclude, value); };
  EXPECT_EQ(include("a@d"), "--include, character 3: host 'd' is not among the hosts of --hosts");
  EXPECT_THAT(
      include("a:4"),
      StartsWith("--include, character 1: host 'a' has 4 slots (--hosts), of which none is 4"));
  EXPECT_THAT(include("a@@b"), StartsWith("--include, character 3: expected the name"));
  EXPECT_THAT(include(""), StartsWith("--include, character 1: expected the name"));
  EXPECT_THAT(include("a:"), StartsWith("--include, character 3: expected the index of a device"));
  EXPECT_THAT(include("a:1,"), StartsWith("--include, character 5: expected the index"));
  EXPECT_THAT(include("a:0-3"), StartsWith("--include, character 3: expected the index"));
  EXPECT_THAT(include("a:-1"), StartsWith("--include, character 3: expected the index"));
  EXPECT_EQ(include("a:1,1"), "--include, character 5: device 1 is named twice");
  EXPECT_THAT(include("a:1@a:2"), StartsWith("--include, character 5: host 'a' is named twice"));
  EXPECT_EQ(refused(Filter::kExclude, "a@b@c"), "--exclude: leaves no host of --hosts");
}

}  // namespace
}  // namespace lockstep::launcher
