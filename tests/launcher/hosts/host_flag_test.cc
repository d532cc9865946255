// --hosts a:8,b:8, and hosts as ssh takes them.
#include "launcher/hosts/host_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "launcher/hosts/ssh_destination.h"
#include "tests/launcher/hosts/readable_hosts.h"

namespace lockstep::launcher {
namespace {

using testing::StartsWith;

std::vector<AllocatedHost> read(std::string_view value) {
  return read_host_flag({LocatedText::Kind::kValue, "--hosts", value});
}

std::string refused(std::string_view value) {
  return refusal([&] { (void)read(value); });
}

TEST(HostFlag, NamesBetweenCommasKeepTheirOrderAndSlots) {
  EXPECT_EQ(shown(read("b:8, a,10.0.0.3:2,fe80::1%eth0,user@c:4,[2001:db8::7]:3,[::1]")),
            "b:8 a 10.0.0.3:2 fe80::1%eth0 user@c:4 2001:db8::7:3 ::1");
  EXPECT_EQ(read("a:8")[0].where, "--hosts");
}

TEST(HostFlag, WhatCannotBeAHostIsRefusedAtItsCharacter) {
  EXPECT_THAT(refused("a,,b"), StartsWith("--hosts, character 3: an empty name"));
  EXPECT_THAT(refused(""), StartsWith("--hosts, character 1: an empty name"));
  EXPECT_THAT(refused("a,b,"), StartsWith("--hosts, character 5: an empty name"));
  EXPECT_THAT(refused("a,b,a:2"),
              StartsWith("--hosts, character 5: host 'a' is named twice, first at --hosts"));
  EXPECT_THAT(refused("-oProxyCommand=x"), StartsWith("--hosts, character 1: expected the name"));
  EXPECT_THAT(refused("me@-x"), StartsWith("--hosts, character 4: expected the name"));
  EXPECT_THAT(refused("a b"), StartsWith("--hosts, character 3: expected a comma"));
  EXPECT_THAT(refused("a:0"), StartsWith("--hosts, character 3: expected a number of slots"));
  EXPECT_THAT(refused("a:b:c"), StartsWith("--hosts, character 3: expected a number of slots"));
  EXPECT_THAT(refused("a:1x"), StartsWith("--hosts, character 3: expected a number of slots"));
  EXPECT_THAT(refused("n[1-3]"), StartsWith("--hosts, character 1: expected the name"));
}

TEST(SshDestination, CarriesUserAndPort) {
  AllocatedHost host;
  host.name = "node1";
  EXPECT_EQ(ssh_destination(host), "node1");
  host.user = "me";
  EXPECT_EQ(ssh_destination(host), "me@node1");
  host.port = 2222;
  EXPECT_EQ(ssh_destination(host), "ssh://me@node1:2222");
  host.user.clear();
  host.name = "2001:db8::7";
  EXPECT_EQ(ssh_destination(host), "ssh://[2001:db8::7]:2222");
}

}  // namespace
}  // namespace lockstep::launcher
