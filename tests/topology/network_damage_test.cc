// Recordings of network tools that are damaged: read in part or refused, never worse.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/topology/corpus.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

const std::vector<std::string> kRecordings{
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 2\n\tNode GUID: 0x0102030405060708\n\tPort "
    "1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: "
    "InfiniBand\n\tPort 2:\n\t\tState: Down\nibpanic: [1] main: stat of IB device 'x' failed\n",
    "Infiniband device 'mlx5_0' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: "
    "LinkUp\n\trate:\t\t 400 Gb/sec (4X NDR)\n\tlink_layer:\t InfiniBand\n",
    "0000:19:00.0 mlx5_0 (MT4129 - X) ConnectX-7 fw 28.1 port 1 (ACTIVE) ==> ens1 (Up)\nmlx5_1 "
    "port "
    "1 ==> bond0 (Down)\n",
    "DEV     PORT    INDEX   GID     IPv4    VER     DEV\nmlx5_0 1 3 ::ffff:10.0.0.1 10.0.0.1 v2 "
    "ens1\n",
    "hca_id:\tmlx5_0\n\tvendor_id:\t0x02c9\n\tvendor_part_id:\t4129\n\tphys_port_cnt:\t1\n\t\tport:"
    "\t"
    "1\n\t\t\tstate:\tPORT_ACTIVE (4)\n\t\t\tactive_width:\t4X (2)\n\t\t\tactive_speed:\t25.0 Gbps "
    "(32)\n\t\t\tGID[  0]:\tfe80::1, RoCE v2\n",
    "link mlx5_0/1 subnet_prefix fe80:: lid 1 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP "
    "netdev ib0\n1/1: mlx5_1/1: state DOWN physical_state POLLING\n",
    R"([{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP"}])",
    "lo UNKNOWN 127.0.0.1/8\nbond0.7@bond0 UP 10.0.0.1/8 metric 3 fe80::1/64\neth0 DOWN "
    "00:11:22:33:44:55 <BROADCAST,UP>\n",
};

// Reads or refuses; anything else ends the test program.
void survive(const std::string& text) {
  try {
    const Machine machine = read_recording({"damaged.txt", text}).machine;
    EXPECT_LE(machine.nics.size() + machine.interfaces.size(), text.size());
  } catch (const ReadError&) {
    SUCCEED();
  }
}

TEST(NetworkDamage, RecordingsCutAnywhereAreReadOrRefused) {
  for (const std::string& recording : kRecordings) {
    EXPECT_NO_THROW((void)read_recording({"whole.txt", recording})) << recording;
    for (std::size_t size = 0; size < recording.size(); ++size) survive(recording.substr(0, size));
    for (std::size_t from = 1; from < recording.size(); ++from) survive(recording.substr(from));
  }
}

TEST(NetworkDamage, FlippedBytesAreReadOrRefused) {
  std::mt19937 random(4711);
  for (const std::string& recording : kRecordings) {
    for (int round = 0; round < 500; ++round) {
      std::string text = recording;
      for (int flips = 1 + round % 5; flips > 0; --flips)
        text[random() % text.size()] = static_cast<char>(random());
      survive(text);
    }
  }
}

TEST(NetworkDamage, LongLinesAndManyLinesAreReadOrRefused) {
  for (const std::string& recording : kRecordings) {
    std::string text = recording;
    std::ranges::replace(text, '\n', ' ');
    std::string line;
    while (line.size() < (std::size_t{1} << 20)) line += text;
    survive(line);
    std::string lines;
    while (lines.size() < (std::size_t{1} << 20)) lines += recording;
    survive(lines);
  }
  survive(std::string(std::size_t{1} << 20, '\n'));
  survive(std::string(std::size_t{1} << 20, '\0'));
  survive(std::string(std::size_t{1} << 20, '['));
}

bool is_of_network_tools(std::string_view format) {
  constexpr std::array<std::string_view, 7> kNames{
      "ibstat", "ibstatus", "ibdev2netdev", "show_gids", "rdma-link", "ibv_devinfo", "ip-brief"};
  return std::ranges::find(kNames, format) != kNames.end();
}

TEST(Corpus, RecordingsOfOtherToolsAreNotTakenForThoseOfTheNetwork) {
  if (!std::filesystem::is_directory(test::corpus_folder()))
    GTEST_SKIP() << "SKIPPED: the recordings are absent";
  int taken = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::corpus_folder())) {
    if (!entry.is_regular_file() || entry.path().extension() == ".md") continue;
    const std::string name =
        std::filesystem::relative(entry.path(), test::corpus_folder()).generic_string();
    const bool own = name.starts_with("ib/") || name.starts_with("net/");
    const auto recording = test::corpus(name);
    ASSERT_TRUE(recording) << name;
    int recognised = 0;
    for (const Format& format : formats()) {
      if (is_of_network_tools(format.name) && format.recognises(recording->text)) ++recognised;
    }
    EXPECT_EQ(recognised, own ? 1 : 0) << name;
    taken += recognised;
  }
  EXPECT_EQ(taken, 15);
}

}  // namespace
}  // namespace lockstep::topology
