// The fabric as ibnetdiscover prints it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/topology/fabric_text.h"
#include "topology/readers/formats.h"
#include "topology/readers/ibnetdiscover_line.h"

namespace lockstep::topology {
namespace {

using test::two_rails;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

Reading read_fabric(const std::string& text) {
  return read_recording({"fabric.txt", text});
}

std::string refusal(const std::string& text) {
  try {
    (void)read_fabric(text);
  } catch (const ReadError& error) {
    return error.what();
  }
  return "it was read";
}

// One leaf, one adapter, in lines that are easily changed.
const std::string kLeaf =
    "Switch\t65 \"S-2c5eab0300b87b40\"\t\t# \"MF0;LEAF01:MQM9701/U1\" enhanced port 0 lid 73 lmc "
    "0\n"
    "[7]\t\"H-b8599f0300aa0001\"[1](b8599f0300aa0001) \t\t# \"node07 mlx5_3\" lid 12 4xNDR\n"
    "\n";
const std::string kAdapter =
    "Ca\t1 \"H-b8599f0300aa0001\"\t\t# \"node07 mlx5_3\"\n"
    "[1](b8599f0300aa0001) \t\"S-2c5eab0300b87b40\"[7]\t\t# lid 12 lmc 0 "
    "\"MF0;LEAF01:MQM9701/U1\" lid 73 4xNDR\n";

TEST(Ibnetdiscover, GivesNodesPortsAndSpeeds) {
  const Reading reading = read_fabric(kLeaf + kAdapter);
  EXPECT_THAT(reading.machine.findings, IsEmpty());
  EXPECT_THAT(reading.machine.sources, ElementsAre("ibnetdiscover"));
  ASSERT_TRUE(reading.fabric);
  ASSERT_THAT(reading.fabric->switches, SizeIs(1));
  const FabricSwitch& leaf = reading.fabric->switches[0];
  EXPECT_EQ(leaf.guid, "2c5eab0300b87b40");
  EXPECT_EQ(leaf.name, "MF0;LEAF01:MQM9701/U1");
  ASSERT_THAT(leaf.ports, SizeIs(1));
  EXPECT_EQ(leaf.ports[0].number, 7);
  EXPECT_EQ(leaf.ports[0].peer, "b8599f0300aa0001");
  EXPECT_EQ(leaf.ports[0].peer_port, 1);
  EXPECT_EQ(leaf.ports[0].rate_Gbps, 400);
  ASSERT_THAT(reading.fabric->adapters, SizeIs(1));
  const FabricAdapter& adapter = reading.fabric->adapters[0];
  EXPECT_EQ(adapter.host, "node07");
  EXPECT_EQ(adapter.device, "mlx5_3");
  EXPECT_EQ(adapter.ports[0].peer, leaf.guid);
  EXPECT_EQ(adapter.ports[0].rate_Gbps, 400);
}

TEST(Ibnetdiscover, CarriageReturnsAndGroupedPortsChangeNothing) {
  std::string text = kLeaf + kAdapter;
  text.replace(text.find("[7]\t"), 4, "[7][ext 4]\t");
  text.replace(text.find("[7]\t\t#"), 6, "[7][ext 4]\t\t#");
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.insert(at, "\r");
  const Reading reading = read_fabric("Chassis 1 (guid 0x1)\r\n" + text);
  EXPECT_THAT(reading.machine.findings, IsEmpty());
  EXPECT_EQ(reading.fabric->adapters[0].ports[0].rate_Gbps, 400);
}

TEST(Ibnetdiscover, ADescriptionMayContainAnything) {
  for (const char* description :
       {"a \"quoted\" one", "4xSDR", "# [1] \"S-1\"[1]", "node07 mlx5_3\" lid 1 1xSDR", "]["}) {
    test::FabricText text;
    text.describe("H-01", description).link("S-02", "H-01", "4xHDR");
    const Reading reading = read_fabric(text.text());
    EXPECT_THAT(reading.machine.findings, IsEmpty()) << description;
    EXPECT_EQ(reading.fabric->adapters[0].name, description);
    EXPECT_EQ(reading.fabric->adapters[0].ports[0].rate_Gbps, 200) << description;
    EXPECT_EQ(reading.fabric->switches[0].ports[0].rate_Gbps, 200) << description;
  }
}

TEST(Ibnetdiscover, SpeedsAreThoseOfTheTrade) {
  for (const auto& [word, Gbps] : std::vector<std::pair<std::string, double>>{{"4xSDR", 10},
                                                                              {"12xDDR", 60},
                                                                              {"4xQDR", 40},
                                                                              {"4xFDR10", 40},
                                                                              {"4xFDR", 56},
                                                                              {"4xEDR", 100},
                                                                              {"2xHDR", 100},
                                                                              {"4xHDR", 200},
                                                                              {"4xNDR", 400},
                                                                              {"4xXDR", 800}}) {
    EXPECT_EQ(parse_link_rate(word), Gbps) << word;
  }
  for (const char* word : {"", "4x", "xNDR", "0xNDR", "99xNDR", "4xNDRS", "-4xNDR", "4xndr"})
    EXPECT_EQ(parse_link_rate(word), std::nullopt) << word;
}

TEST(Ibnetdiscover, ALinkOfOneEndOnlyIsNamed) {
  std::string other_port = kAdapter;
  other_port.replace(other_port.find("[7]"), 3, "[9]");
  const Reading reading = read_fabric(kLeaf + other_port);
  ASSERT_THAT(reading.machine.findings, SizeIs(1));
  const Finding& finding = reading.machine.findings[0];
  EXPECT_EQ(finding.code, "one-sided-link");
  EXPECT_EQ(finding.where, "fabric.txt:2");
  EXPECT_EQ(finding.message,
            "2 links are stated by one end, but not by the other: \"S-2c5eab0300b87b40\"[7] to "
            "\"H-b8599f0300aa0001\"[1]; \"H-b8599f0300aa0001\"[1] to \"S-2c5eab0300b87b40\"[9]");
}

TEST(Ibnetdiscover, WhatIsCutOffIsReadInPart) {
  const std::string whole = two_rails(8).text();
  for (std::size_t size = whole.size() / 2; size + 40 < whole.size(); size += 7) {
    const Reading reading = read_fabric(whole.substr(0, size));
    ASSERT_TRUE(reading.fabric) << size;
    EXPECT_THAT(reading.machine.findings, testing::Not(IsEmpty())) << size;
    for (const Finding& finding : reading.machine.findings) {
      EXPECT_THAT(finding.code, testing::AnyOf("recording-cut", "unknown-fabric-node",
                                               "one-sided-link", "fabric-node-without-links"));
    }
  }
}

TEST(Ibnetdiscover, ManyFaultsOfAKindAreOneFinding) {
  const std::string whole = two_rails(60).text();
  const std::size_t first_switch = whole.find("\nvendid=0x2c9\ndevid=0x1021\nSwitch");
  const Reading reading = read_fabric(whole.substr(0, first_switch));
  ASSERT_THAT(reading.machine.findings, SizeIs(1));
  EXPECT_THAT(reading.machine.findings[0].message,
              AllOf(StartsWith("120 links lead to nodes that are not in the file: "),
                    HasSubstr("; and 117 more")));
}

TEST(Ibnetdiscover, DamageIsRefusedWithItsLine) {
  const std::string good = kLeaf + kAdapter;
  const auto damaged = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    return refusal(text.replace(text.find(what), what.size(), by));
  };
  EXPECT_THAT(damaged("\"[1](b8", "[1](b8"), StartsWith("fabric.txt:2: expected [port] "));
  EXPECT_THAT(damaged("[7]\t", "[700]\t"), StartsWith("fabric.txt:2: expected [port] "));
  EXPECT_THAT(damaged("[7]\t", "[66]\t"),
              "fabric.txt:2: port 66 of node \"S-2c5eab0300b87b40\", "
              "which has 65 ports");
  EXPECT_THAT(damaged("65 ", "650 "), StartsWith("fabric.txt:1: expected a number of ports"));
  EXPECT_THAT(damaged("mlx5_3\"\n", "mlx5_3\n"), StartsWith("fabric.txt:4: expected the descrip"));
  EXPECT_EQ(refusal(kLeaf + kAdapter + kLeaf),
            "fabric.txt:6: node \"S-2c5eab0300b87b40\" stands a second time, first in line 1; give "
            "one run's output");
  const std::string port = kLeaf.substr(kLeaf.find("[7]"));
  EXPECT_EQ(refusal(kLeaf.substr(0, kLeaf.size() - 1) + port),
            "fabric.txt:3: port 7 of node \"S-2c5eab0300b87b40\" stands a second time, first in "
            "line 2");
}

TEST(Ibnetdiscover, AFabricWithoutALinkIsNone) {
  EXPECT_THAT(refusal("# Topology file: generated on Tue Mar  3 10:00:00 2026\n"),
              StartsWith("fabric.txt: ibnetdiscover output without a node; "));
  EXPECT_THAT(refusal("#\n\nCa\t1 \"H-01\"\t\t# \"node07 mlx5_3\"\n"),
              StartsWith("fabric.txt:3: expected the lines of the ports of \"H-01\", found none"));
}

TEST(Ibnetdiscover, TheShellAroundItIsPassedOver) {
  const Reading reading =
      read_fabric("[root@head ~]# ibnetdiscover\n" + kLeaf + kAdapter + "[root@head ~]# exit\n");
  EXPECT_THAT(reading.machine.findings, IsEmpty());
  EXPECT_THAT(reading.fabric->adapters, SizeIs(1));
}

}  // namespace
}  // namespace lockstep::topology
