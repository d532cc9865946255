// Ports of real machines, as their RDMA tools recorded them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/topology/corpus.h"
#include "tests/topology/port_lines.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using test::codes_of;
using test::line_of;
using test::lines_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Names of the active InfiniBand ports, which a job can use as rails.
std::vector<std::string> rails_of(const Machine& machine) {
  std::vector<std::string> names;
  for (const Nic& nic : machine.nics) {
    if (nic.kind == NicKind::infiniband && nic.state == NicState::active) names.push_back(nic.name);
  }
  return names;
}

struct Recorded {
  const char* name;
  std::vector<std::string> ports;
  std::vector<std::string> findings = {};
};

// What the notes beside the recordings say of them.
const std::vector<Recorded> kRecorded{
    {"ib/ibstat.39.0.a100.failed.ibpanic.exit-255.0.txt",
     {"mlx5_0:1 active LinkUp 200 infiniband", "mlx5_1:1 active LinkUp 200 infiniband",
      "mlx5_2:1 active LinkUp 200 infiniband", "mlx5_3:1 active LinkUp 200 infiniband",
      "mlx5_4:1 active LinkUp 200 infiniband", "mlx5_5:1 active LinkUp 200 infiniband",
      "mlx5_6:1 active LinkUp 200 infiniband", "mlx5_7:1 active LinkUp 200 infiniband"},
     {"tool-failed"}},
    {"ib/ibstat.47.0.a100.all.active.0.txt",
     {"mlx5_0:1 active LinkUp 200 roce", "mlx5_1:1 active LinkUp 200 infiniband",
      "mlx5_2:1 active LinkUp 200 infiniband", "mlx5_3:1 active LinkUp 200 infiniband",
      "mlx5_4:1 active LinkUp 200 infiniband", "mlx5_5:1 active LinkUp 200 infiniband",
      "mlx5_6:1 active LinkUp 200 infiniband", "mlx5_7:1 active LinkUp 200 infiniband",
      "mlx5_8:1 active LinkUp 200 infiniband"}},
    {"ib/ibstat.47.0.h100.all.active.0.txt",
     {"mlx5_0:1 active LinkUp 400 roce", "mlx5_1:1 active LinkUp 100 roce",
      "mlx5_2:1 active LinkUp 100 roce", "mlx5_3:1 active LinkUp 400 roce",
      "mlx5_4:1 active LinkUp 400 roce", "mlx5_5:1 active LinkUp 400 roce",
      "mlx5_6:1 active LinkUp 400 roce", "mlx5_7:1 active LinkUp 100 roce",
      "mlx5_8:1 active LinkUp 100 roce", "mlx5_9:1 active LinkUp 400 roce",
      "mlx5_10:1 active LinkUp 400 roce", "mlx5_11:1 active LinkUp 400 roce"}},
    {"ib/ibstat.47.0.h100.all.active.2.txt",
     {"mlx5_0:1 active LinkUp 400 infiniband", "mlx5_1:1 active LinkUp 400 infiniband",
      "mlx5_4:1 active LinkUp 400 infiniband", "mlx5_5:1 active LinkUp 400 infiniband",
      "mlx5_6:1 active LinkUp 400 infiniband", "mlx5_7:1 active LinkUp 400 infiniband",
      "mlx5_8:1 active LinkUp 400 infiniband", "mlx5_9:1 active LinkUp 400 infiniband",
      "mlx5_bond_0:1 active LinkUp 200 roce"}},
    {"ib/ibstat.47.0.h100.some.down.0.txt",
     {"mlx5_0:1 active LinkUp 400 infiniband", "mlx5_1:1 active LinkUp 100 roce",
      "mlx5_2:1 down Disabled 40 roce", "mlx5_3:1 active LinkUp 400 infiniband",
      "mlx5_4:1 active LinkUp 400 infiniband", "mlx5_5:1 active LinkUp 400 infiniband",
      "mlx5_6:1 active LinkUp 400 infiniband", "mlx5_7:1 down Disabled 40 roce",
      "mlx5_8:1 down Disabled 40 roce", "mlx5_9:1 active LinkUp 400 infiniband",
      "mlx5_10:1 active LinkUp 400 infiniband", "mlx5_11:1 active LinkUp 400 infiniband"}},
    {"ib/ibstat.47.0.h100.some.down.with.polling.1.txt",
     {"mlx5_0:1 active LinkUp 400 roce", "mlx5_1:1 active LinkUp 100 roce",
      "mlx5_2:1 active LinkUp 100 roce", "mlx5_3:1 active LinkUp 400 roce",
      "mlx5_4:1 active LinkUp 400 roce", "mlx5_5:1 down Disabled 40 roce",
      "mlx5_6:1 active LinkUp 400 roce", "mlx5_7:1 active LinkUp 100 roce",
      "mlx5_8:1 active LinkUp 100 roce", "mlx5_9:1 active LinkUp 400 roce",
      "mlx5_10:1 active LinkUp 400 roce", "mlx5_11:1 down Polling 40 roce"}},
    {"ib/ibstatus.39.0.a100.all.active.0.txt",
     {"mlx5_0:1 active LinkUp 200 infiniband", "mlx5_1:1 active LinkUp 200 infiniband",
      "mlx5_2:1 active LinkUp 200 infiniband", "mlx5_3:1 active LinkUp 200 infiniband",
      "mlx5_4:1 active LinkUp 200 infiniband", "mlx5_5:1 active LinkUp 200 infiniband",
      "mlx5_6:1 active LinkUp 200 infiniband", "mlx5_7:1 active LinkUp 200 infiniband",
      "mlx5_8:1 active LinkUp 40 roce"}},
    {"ib/ibv_devinfo-cx7-dell-2hca.txt",
     {"mlx5_10:1 active  0 infiniband", "mlx5_11:1 active  0 infiniband"}},
    {"ib/ibv_devinfo-mlx4-dualport.txt",
     {"mlx4_1:1 active  0 infiniband", "mlx4_1:2 down  0 infiniband"}},
    {"ib/roce-4gid.ibv_devinfo.txt", {":0 unknown LinkUp 0 roce"}, {"incomplete-recording"}},
};

TEST(Corpus, PortsAreAsTheNotesBesideTheRecordingsSay) {
  if (!test::corpus(kRecorded.front().name)) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  for (const Recorded& recorded : kRecorded) {
    SCOPED_TRACE(recorded.name);
    const auto recording = test::corpus(recorded.name);
    ASSERT_TRUE(recording);
    const Machine machine = read_recording(*recording).machine;
    EXPECT_EQ(lines_of(machine), recorded.ports);
    EXPECT_EQ(codes_of(machine), recorded.findings);
  }
}

TEST(Acceptance, T03_UsablePortsAreThoseOfInfinibandThatAreActiveInNumericOrder) {
  const auto some_down = test::corpus("ib/ibstat.47.0.h100.some.down.0.txt");
  if (!some_down) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  const Machine machine = read_recording(*some_down).machine;
  EXPECT_THAT(rails_of(machine), ElementsAre("mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6",
                                             "mlx5_9", "mlx5_10", "mlx5_11"));
  EXPECT_EQ(line_of(machine.nics[1]), "mlx5_1:1 active LinkUp 100 roce");
  for (const std::size_t down : {2, 7, 8}) EXPECT_EQ(machine.nics[down].state, NicState::down);
}

TEST(Acceptance, T03_IbstatThatDiedGivesEightDevicesAndItsError) {
  const auto died = test::corpus("ib/ibstat.39.0.a100.failed.ibpanic.exit-255.0.txt");
  if (!died) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  const Machine machine = read_recording(*died).machine;
  EXPECT_THAT(rails_of(machine), SizeIs(8));
  ASSERT_THAT(machine.findings, SizeIs(1));
  EXPECT_EQ(machine.findings[0].severity, Severity::error);
  EXPECT_THAT(machine.findings[0].message, HasSubstr("stat of IB device 'mlx5_8' failed"));
}

}  // namespace
}  // namespace lockstep::topology
