// Hostfiles of Open MPI, Hydra and DeepSpeed, and what is neither.
#include "launcher/hosts/hostfile.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/launcher/hosts/readable_hosts.h"

namespace lockstep::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

HostfileReading reading(std::string_view text, HostfileFormat format = HostfileFormat::kByContent) {
  return read_hostfile({LocatedText::Kind::kFile, "hosts", text}, format);
}

std::string read(std::string_view text, HostfileFormat format = HostfileFormat::kByContent) {
  return shown(reading(text, format).hosts);
}

std::string refused(std::string_view text, HostfileFormat format = HostfileFormat::kByContent) {
  return refusal([&] { (void)reading(text, format); });
}

TEST(Hostfile, PlainNamesStateNoSlots) {
  EXPECT_EQ(read("node1\nnode2\n\n  10.0.0.3\t\nfe80::1%eth0\nme@node-4.example.com\n12"),
            "node1 node2 10.0.0.3 fe80::1%eth0 me@node-4.example.com 12");
}

TEST(Hostfile, AHostOfSeveralLinesHasASlotForEach) {
  EXPECT_EQ(read("a\nb\na\na\n"), "a:3 b:1");
  EXPECT_EQ(read("a slots=4\na\nb\n"), "a:5 b:1");
}

TEST(Hostfile, ByteOrderMarkCarriageReturnsAndCommentsAreSkipped) {
  EXPECT_EQ(read("\xef\xbb\xbf# the new ones\r\nnode1 slots=2\r\n\r\n  node2 slots=3 # slow\r\n"),
            "node1:2 node2:3");
  EXPECT_EQ(reading("\xef\xbb\xbfnode1\r\n").hosts[0].where, "hosts:1:1");
}

TEST(Hostfile, OpenMpiKeysAreRead) {
  EXPECT_EQ(read("a slots=2 max_slots=4\n"
                 "b slots = 3   max-slots =5 user_name=me port=2222 // fast\n"
                 "/* these\n   c slots=9\n are broken */ d cpu=1 slots-max=1\n"
                 "e count=7\nf max_slots=6\ng slots_max=2 username=you\n"),
            "a:2/4 me@b:3/5 port 2222 d:1/1 e:7 f:6/6 you@g:2/2");
}

TEST(Hostfile, WhatOpenMpiKnowsOfAHostsInsideIsNotedAndNotUsed) {
  const HostfileReading found = reading("a slots=2 sockets=2 cores-per-socket=8\n");
  EXPECT_EQ(shown(found.hosts), "a:2");
  EXPECT_THAT(found.notes,
              ElementsAre("hosts:1:11: 'sockets' is not used: what a host has is read there",
                          HasSubstr("hosts:1:21: 'cores-per-socket'")));
}

TEST(Hostfile, OpenMpiDamageIsRefusedAtItsPlace) {
  struct Case {
    std::string_view text, message;
  };
  for (const auto& [text, message] : {
           Case{"a\nb slots=2 slot=3\n", "hosts:2:11: expected slots=, max_slots="},
           Case{"a slots=0\n", "hosts:1:9: expected a number of slots of 1 to 65536, found '0'"},
           Case{"a slots=-1\n", "hosts:1:9: expected a number of slots"},
           Case{"a slots=99999999999999999999\n", "hosts:1:9: expected a number of slots"},
           Case{"a slots=65537\n", "hosts:1:9: expected a number of slots"},
           Case{"a slots=2x\n", "hosts:1:9: expected a number of slots"},
           Case{"a slots=\n", "hosts:1:3: expected slots=VALUE, found no value"},
           Case{"a slots\n", "hosts:1:3: expected slots=VALUE"},
           Case{"a slots==2\n", "hosts:1:3: expected slots=VALUE"},
           Case{"a slots=1 slots=2\n", "hosts:1:11: 'slots' is stated twice"},
           Case{"a slots=4 max_slots=3\n", "hosts:1:1: host 'a' has 4 slots, above its maximum 3"},
           Case{"a slots=1\nb\n a slots=2\n",
                "hosts:3:2: host 'a' is named twice, first at hosts:1:1"},
           Case{"a\na slots=2\n", "hosts:2:1: host 'a' is named twice, first at hosts:1:1"},
           Case{"a max_slots=1\na\na\n",
                "hosts:1:1: host 'a' has 3 slots in all, above its maximum 1"},
           Case{"a port=65536\n", "hosts:1:8: expected a port of 1 to 65535"},
           Case{"a user_name=-l\n", "hosts:1:13: expected the name of a user, found '-l'"},
           Case{"a /* b\n", "hosts:1:3: expected */"},
           Case{"^a\n", "hosts:1:1: '^a' excludes a host"},
           Case{"+n1\n", "hosts:1:1: '+n1' is a host relative to another list"},
           Case{"rank 0=a slot=1:0-2\n", "hosts:1:1: this is a line of a rankfile"},
           Case{"a b\n", "hosts:1:3: expected slots=, max_slots="},
       }) {
    EXPECT_THAT(refused(text), StartsWith(message)) << text;
  }
}

TEST(Hostfile, WhatCannotBeAHostIsRefusedAtItsPlace) {
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(refused("\n  -oProxyCommand=x\n"), StartsWith("hosts:2:3: expected the name"));
  EXPECT_THAT(refused("a,b\n"),
              StartsWith("hosts:1:1: expected the name or address of a host, found 'a,b'"));
  EXPECT_THAT(refused("no\0de\n"sv),
              StartsWith("hosts:1:1: expected the name or address of a host, found 'no\\x00de'"));
  EXPECT_THAT(refused("n\xc3\xb6\n"), HasSubstr("found 'n\\xc3\\xb6'"));
  EXPECT_THAT(refused("\xff\xfe"
                      "a\0\n\0"sv),
              StartsWith("hosts:1:1: "));
  EXPECT_THAT(refused("a@b@c\n"), StartsWith("hosts:1:3: "));
  EXPECT_THAT(refused("@c\n"), StartsWith("hosts:1:1: expected the name of a user"));
  EXPECT_THAT(refused("me@\n"), StartsWith("hosts:1:4: expected the name"));
  EXPECT_THAT(refused(fmt::format("{}\n", std::string(256, 'a'))), StartsWith("hosts:1:1: "));
  EXPECT_EQ(read(fmt::format("{}\n", std::string(255, 'a'))), std::string(255, 'a'));
}

TEST(Hostfile, AFileWithoutAHostIsRefused) {
  for (const auto format : {HostfileFormat::kByContent, HostfileFormat::kOpenMpi,
                            HostfileFormat::kHydra, HostfileFormat::kDeepSpeed}) {
    for (const char* text : {"", "\n\n", "# none\n", "\xef\xbb\xbf", " \r\n"})
      EXPECT_EQ(refused(text, format), "hosts: names no host; expected at least one") << text;
  }
}

TEST(Hostfile, HydraIsRecognisedByItsColon) {
  EXPECT_EQ(read("a:2\nb # one\nc:3 user=me # three\n[fe80::1]:4\nb\n"),
            "a:2 b:2 me@c:3 fe80::1:4");
  EXPECT_EQ(read("a\na:2\nb:1\na:3\n"), "a:6 b:1");
  const HostfileReading bound = reading("a:2 binding=user:0,1\n");
  EXPECT_EQ(shown(bound.hosts), "a:2");
  EXPECT_THAT(bound.notes, ElementsAre(StartsWith("hosts:1:5: 'binding=' is not used")));
}

TEST(Hostfile, HydraDamageIsRefusedAtItsPlace) {
  EXPECT_THAT(refused("a:0\n"), StartsWith("hosts:1:3: expected a number of slots"));
  EXPECT_THAT(refused("a:\n"), StartsWith("hosts:1:3: expected a number of slots"));
  EXPECT_THAT(refused("a:2:3\n"), StartsWith("hosts:1:3: expected a number of slots"));
  EXPECT_THAT(refused("a:65536\na:1\n"),
              StartsWith("hosts:2:1: host 'a' has more than 65536 slots"));
  EXPECT_THAT(refused("a:2 color=red\n", HostfileFormat::kHydra),
              StartsWith("hosts:1:5: expected user= or binding=, found 'color=red'"));
  EXPECT_THAT(refused("[a]:2\n"), StartsWith("hosts:1:1: expected an IPv6 address in brackets"));
  EXPECT_THAT(refused("[fe80::1:2\n"), StartsWith("hosts:1:1: expected an IPv6 address"));
  EXPECT_THAT(refused("a:1\na:1 user=me\n"), StartsWith("hosts:2:1: host 'a' has another user"));
}

TEST(Hostfile, TwoGrammarsInOneFileAreAmbiguousUnlessTheFormatIsGiven) {
  const std::string mixed = "a slots=8\nb:4\n";
  EXPECT_THAT(refused(mixed),
              AllOf(StartsWith("hosts:2:1: 'b:4' and 'slots=8' (line 1) are of two grammars"),
                    HasSubstr("--hostfile-format openmpi|hydra|deepspeed")));
  EXPECT_THAT(refused("b:4\na slots=8\n"), StartsWith("hosts:2:3: 'slots=8' and 'b:4' (line 1)"));
  EXPECT_THAT(refused(mixed, HostfileFormat::kHydra), StartsWith("hosts:1:3: expected user="));
  EXPECT_THAT(refused(mixed, HostfileFormat::kOpenMpi), StartsWith("hosts:2:1: expected the name"));
  EXPECT_EQ(read("/* b:4 */ a slots=8\n"), "a:8");
}

TEST(Hostfile, DeepSpeedSkipsWhatFollowsTheSlots) {
  EXPECT_EQ(read("# hosts\nworker-0 slots=4\nworker-1   slots=8\n"), "worker-0:4 worker-1:8");
  const std::string trailing = "  #x\nworker-0 slots=4 and more # of it\nworker-1 slots=2x\n";
  EXPECT_THAT(refused(trailing), AllOf(StartsWith("hosts:2:18: expected slots=, max_slots="),
                                       HasSubstr("--hostfile-format deepspeed")));
  EXPECT_EQ(read(trailing, HostfileFormat::kDeepSpeed), "worker-0:4 worker-1:2");
}

TEST(Hostfile, DeepSpeedRefusesWhatItsExpressionDoesNotMatch) {
  const auto refused_by = [](std::string_view text) {
    return refused(text, HostfileFormat::kDeepSpeed);
  };
  EXPECT_EQ(refused_by("a\n"), "hosts:1:1: expected 'host slots=8', found 'a' alone");
  EXPECT_EQ(refused_by("a slots = 4\n"), "hosts:1:3: expected 'host slots=8', found 'slots'");
  EXPECT_THAT(refused_by("a slots=x\n"), StartsWith("hosts:1:9: expected a number of slots"));
  EXPECT_THAT(refused_by("a slots=-1\n"), StartsWith("hosts:1:9: expected a number of slots"));
  EXPECT_THAT(refused_by("a slots=0\n"), StartsWith("hosts:1:9: expected a number of slots"));
  EXPECT_THAT(refused_by("a slots=1\na slots=1\n"),
              StartsWith("hosts:2:1: host 'a' is named twice, first at hosts:1:1: DeepSpeed's"));
  EXPECT_THAT(refused_by("a slots=1 # x\nb # y\n"),
              StartsWith("hosts:2:3: expected 'host slots=8'"));
}

TEST(Hostfile, FormatsHaveTheNamesOfTheFlag) {
  EXPECT_EQ(hostfile_format("openmpi"), HostfileFormat::kOpenMpi);
  EXPECT_EQ(hostfile_format("hydra"), HostfileFormat::kHydra);
  EXPECT_EQ(hostfile_format("deepspeed"), HostfileFormat::kDeepSpeed);
  EXPECT_EQ(hostfile_format("mpich"), std::nullopt);
}

TEST(Hostfile, MoreHostsThanThereCanBeAreRefused) {
  std::string text;
  for (std::size_t i = 0; i <= kMostHosts; ++i) text += fmt::format("n{}\n", i);
  EXPECT_EQ(refused(text), "hosts:65537:1: more than 65536 hosts, which is the most");
}

}  // namespace
}  // namespace lockstep::launcher
