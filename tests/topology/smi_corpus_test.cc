// Recordings of real machines: what the notes beside them say is what is read. Skipped where the
// recordings are not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/topology/smi_readings.h"
#include "topology/nccl_tests.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class CorpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(corpus()))
      GTEST_SKIP() << "SKIPPED: no recordings in " << corpus();
  }

  static Machine read(const std::string& file) {
    return read_recording(load(corpus() / file)).machine;
  }
};

using SmiCorpus = CorpusTest;
using Acceptance = CorpusTest;

struct Count {
  std::size_t gpus, nics, numa;
};

// GPUs, NICs and NUMA nodes with CPUs of each matrix.
const std::map<std::string, Count> kCounts{
    {"2gpu-nv1-mlx5-phb-oldlegend.txt", {2, 1, 0}},
    {"2gpu-nv3-loose-bridge.txt", {2, 0, 0}},
    {"4gpu-nv4-pairs-1nic-pxb-pix.txt", {4, 1, 2}},
    {"a100-pcie-4gpu-one-bridge-dead-oldfmt.txt", {4, 2, 2}},
    {"a100-pcie-8gpu-interleaved-pairs.txt", {8, 0, 2}},
    {"a40-8gpu-2nic.txt", {8, 2, 2}},
    {"azure-ndv2-v100-8gpu-mlx5-oldfmt.txt", {8, 1, 1}},
    {"container-2gpu-8nic-no-affinity.txt", {2, 8, 0}},
    {"dgx-a100-10nic.txt", {8, 10, 4}},
    {"gb200-4gpu-8nic-all-sys.txt", {4, 8, 2}},
    {"gpu4-header-only-no-legend.txt", {4, 0, 0}},
    {"h100-8gpu-nonic-compact.txt", {8, 0, 2}},
    {"h100-dell-12nic-topo-mp.txt", {8, 12, 2}},
    {"hgx-8gpu-12nic-single-numa-roce.txt", {8, 12, 1}},
    {"p2p-read-l4-cns.txt", {2, 0, 0}},
    {"pcie-8gpu-6plus2-node-phb.txt", {8, 0, 2}},
    {"power9-4gpu-nv3-4mlx5-oldfmt.txt", {4, 4, 2}},
    {"rtx3090-4gpu-phb-sys.txt", {4, 0, 2}},
    {"v100-4gpu-nv1nv2-mlx5-sys-oldfmt.txt", {4, 1, 0}},
    {"v100-8gpu-cubemesh-2mlx5-oldfmt.txt", {8, 2, 2}},
    {"vm-4gpu-phb-nonic.txt", {4, 0, 1}},
    {"vm-h100-4gpu-8nic-all-phb.txt", {4, 8, 1}},
};

TEST_F(SmiCorpus, EveryMatrixHasTheDevicesOfItsNote) {
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(corpus() / "smi-topo")) {
    if (entry.path().extension() != ".txt") continue;
    const std::string file = entry.path().filename();
    seen.insert(file);
    ASSERT_TRUE(kCounts.contains(file)) << file;
    const Machine machine = read("smi-topo/" + file);
    EXPECT_EQ(machine.gpus.size(), kCounts.at(file).gpus) << file;
    EXPECT_EQ(machine.nics.size(), kCounts.at(file).nics) << file;
    EXPECT_EQ(machine.numa.size(), kCounts.at(file).numa) << file;
    EXPECT_THAT(codes(machine.findings),
                Each(::testing::AnyOf("affinity-unknown", "nvlink-not-shown", "numa-inferred",
                                      "rows-missing")))
        << file;
  }
  EXPECT_EQ(seen.size(), kCounts.size());
}

// A second reading of the same matrix, in a few lines: word i of a device's row is its label to
// device i - 1.
TEST_F(SmiCorpus, EveryFullMatrixIsReadAsItStands) {
  int full = 0;
  for (const auto& [file, count] : kCounts) {
    if (file.starts_with("p2p")) continue;
    const Machine machine = read("smi-topo/" + file);
    std::istringstream text(load(corpus() / "smi-topo" / file).text);
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(text, line);) {
      std::istringstream parts(line);
      const std::vector<std::string> row{std::istream_iterator<std::string>(parts), {}};
      const bool of_device =
          row.size() > 1 && row[0].find_first_of(":=") == std::string::npos &&
          (row[0].starts_with("GPU") || row[0].starts_with("NIC") || row[0].starts_with("mlx5"));
      if (of_device && !row[1].starts_with("GPU") && row[1] != "Topology" && row[1] != "Legend:")
        rows.push_back(row);
    }
    if (rows.size() != count.gpus + count.nics) continue;
    ++full;
    const auto id = [&count](std::size_t device) {
      return device < count.gpus ? gpu(static_cast<int>(device))
                                 : nic(static_cast<int>(device - count.gpus));
    };
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < rows.size(); ++j) {
        if (i == j) continue;
        EXPECT_EQ(label(machine, id(i), id(j)), rows[i][j + 1]) << file << " " << i << " " << j;
        ++pairs;
      }
    }
    EXPECT_EQ(machine.stated.size(), pairs / 2) << file;
  }
  EXPECT_EQ(full, 20) << "all but the matrix whose NIC rows were not pasted";
}

TEST_F(SmiCorpus, TheNotesFactsHold) {
  const Machine mesh = read("smi-topo/v100-8gpu-cubemesh-2mlx5-oldfmt.txt");
  EXPECT_EQ(label(mesh, gpu(6), gpu(2)), "NV2");
  EXPECT_EQ(label(mesh, gpu(2), nic(0)), "PIX");
  EXPECT_EQ(label(mesh, nic(0), nic(1)), "");
  const Machine pairs = read("smi-topo/a100-pcie-8gpu-interleaved-pairs.txt");
  EXPECT_EQ(label(pairs, gpu(0), gpu(2)), "NV12");
  EXPECT_EQ(label(pairs, gpu(0), gpu(1)), "SYS");
  const Machine power = read("smi-topo/power9-4gpu-nv3-4mlx5-oldfmt.txt");
  EXPECT_EQ(power.numa[1].cpus.to_list(), "64-127");
  EXPECT_EQ(power.nics[3].name, "mlx5_3");
  const Machine dgx = read("smi-topo/dgx-a100-10nic.txt");
  EXPECT_EQ(dgx.gpus[0].numa, 3);
  EXPECT_EQ(dgx.gpus[7].numa, 5);
  EXPECT_EQ(label(dgx, gpu(7), nic(7)), "PXB");
  EXPECT_EQ(label(dgx, gpu(7), nic(9)), "SYS");
  EXPECT_EQ(dgx.nics[9].name, "mlx5_9");
  const Machine uneven = read("smi-topo/pcie-8gpu-6plus2-node-phb.txt");
  EXPECT_EQ(uneven.gpus[5].numa, 0);
  EXPECT_EQ(uneven.gpus[6].numa, 1);
  const Machine p2p = read("smi-topo/p2p-read-l4-cns.txt");
  EXPECT_THAT(p2p.peers, ElementsAre(PeerStatus{gpu(0), gpu(1), 'r', "CNS"},
                                     PeerStatus{gpu(1), gpu(0), 'r', "CNS"}));
  const Machine grace = read("smi-topo/gb200-4gpu-8nic-all-sys.txt");
  EXPECT_EQ(grace.gpus[3].numa, 1);
  EXPECT_EQ(grace.gpus[3].memory_numa, 26);
  EXPECT_EQ(grace.numa[1].id, 1);
  EXPECT_EQ(grace.numa[1].cpus.to_list(), "72-143");
}

TEST_F(SmiCorpus, NvlinkPortsAreThoseOfTheirNotes) {
  const Machine h100 = read("nvlink/h100-remote-gpu0.nvlink-R.txt");
  ASSERT_EQ(h100.gpus.size(), 1U);
  std::map<int, int> links;  // by the switch's bus
  for (const NvlinkPort& port : h100.gpus[0].nvlinks) ++links[port.remote->bus];
  EXPECT_EQ(links, (std::map<int, int>{{5, 4}, {6, 5}, {7, 5}, {8, 4}}));
}

TEST_F(SmiCorpus, TheLogOfTwoSwitchesIsRead) {
  const Machine machine = read("logs/h100-gen4-2nic-per-gpu.nccl-graph.txt");
  EXPECT_EQ(machine.gpus.size(), 4U);
  EXPECT_EQ(machine.nics.size(), 3U) << "the log is cut in the middle of the fourth";
  ASSERT_EQ(machine.switches.size(), 2U);
  EXPECT_EQ(machine.switches[0].pci.vendor, 0x10b5U);
  EXPECT_EQ(machine.switches[0].pci.device, 0x8796U);
  EXPECT_EQ(machine.nics[0].rate_Gbps, 200);
  EXPECT_EQ(machine.gpus[0].numa, 1);
  for (const Link& link : machine.links) {
    if (link.kind == LinkKind::pcie) {
      EXPECT_EQ(link.GBps, 24.0);
    } else {
      EXPECT_EQ(link.count, 18);
    }
  }
}

TEST_F(SmiCorpus, TheA10CloudMachineHasOneGpuAndOneVirtualNic) {
  const Machine machine = read("lspci/a10-cloud.lspci-nn.txt");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].pci.device, 0x2236U);
  EXPECT_THAT(machine.nvswitches, IsEmpty());
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_EQ(machine.nics[0].kind, NicKind::ethernet);
  EXPECT_TRUE(machine.nics[0].virtual_function);
}

// Bytes changed, cut out and doubled, at places that a small generator picks.
TEST_F(SmiCorpus, DamagedRecordingsAreReadInPartOrRefused) {
  std::uint32_t state = 1;
  const auto pick = [&state](std::size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
  };
  int read_in_part = 0, refused = 0;
  for (const char* folder : {"smi-topo", "nvlink", "logs", "lspci", "nccl-tests"}) {
    for (const auto& entry : std::filesystem::directory_iterator(corpus() / folder)) {
      if (entry.path().extension() != ".txt") continue;
      const std::string whole = load(entry.path()).text.substr(0, 1 << 15);
      for (int round = 0; round < 40; ++round) {
        Recording damaged{"damaged.txt", whole};
        for (int change = 0; change < 12 && !damaged.text.empty(); ++change) {
          const std::size_t at = pick(damaged.text.size());
          const std::size_t length = 1 + pick(30);
          switch (pick(3)) {
            case 0:
              damaged.text[at] = static_cast<char>(pick(256));
              break;
            case 1:
              damaged.text.erase(at, length);
              break;
            default:
              damaged.text.insert(at, damaged.text.substr(pick(damaged.text.size()), length));
          }
        }
        try {
          (void)read_recording(damaged);
          ++read_in_part;
        } catch (const ReadError& error) {
          EXPECT_THAT(error.what(), StartsWith("damaged.txt"));
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(read_in_part, 500);
  EXPECT_GT(refused, 50);  // nccl-tests output always is
}

TEST_F(Acceptance, T06_TheVirtualSwitchesSpeedIsReadAsNcclBelievesIt) {
  const Machine machine = read("logs/vm-h200-pci-0.2.nccl-graph.txt");
  ASSERT_EQ(machine.switches.size(), 2U);
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.nics.size(), 2U);
  EXPECT_EQ(machine.numa.size(), 2U);
  for (int i = 0; i < 2; ++i) {
    const Switch& bridge = machine.switches[static_cast<std::size_t>(i)];
    EXPECT_EQ(bridge.pci.vendor, 0x104cU);
    EXPECT_EQ(bridge.pci.device, 0x8232U);
    const DeviceId id{DeviceKind::pcie_switch, i};
    EXPECT_THAT(machine.links, Contains(Link{id, {DeviceKind::numa, 0}, LinkKind::pcie, 1, 0.2}));
    EXPECT_THAT(machine.links, Contains(Link{gpu(i), id, LinkKind::pcie, 1, 48.0}));
    EXPECT_THAT(machine.links, Contains(Link{nic(i), id, LinkKind::pcie, 1, 48.0}));
    EXPECT_THAT(machine.links,
                Contains(Link{gpu(i), {DeviceKind::nvswitch, 0}, LinkKind::nvlink, 18, 370.8}));
  }
  EXPECT_EQ(machine.nics[0].guid, "d4f9fc0003ae6d94");
  EXPECT_EQ(machine.nics[0].rate_Gbps, 400);
}

TEST_F(Acceptance, T08_LostNvlinksAreInWhatIsRead) {
  EXPECT_EQ(label(read("smi-topo/2gpu-nv3-loose-bridge.txt"), gpu(0), gpu(1)), "NV3");
  const Machine bridges = read("smi-topo/a100-pcie-4gpu-one-bridge-dead-oldfmt.txt");
  EXPECT_EQ(label(bridges, gpu(0), gpu(1)), "NV12");
  EXPECT_EQ(label(bridges, gpu(2), gpu(3)), "NODE");
  const Machine v100 = read("nvlink/v100-inactive-links.txt");
  ASSERT_EQ(v100.gpus.size(), 4U);
  std::vector<int> inactive;
  for (const NvlinkPort& port : v100.gpus[3].nvlinks) {
    if (!port.active) inactive.push_back(port.number);
  }
  EXPECT_EQ(v100.gpus[3].nvlinks.size(), 6U);
  EXPECT_THAT(inactive, ElementsAre(3, 5));
  EXPECT_THAT(read("smi-topo/rtx3090-4gpu-phb-sys.txt").findings, IsEmpty());
}

TEST_F(Acceptance, T11_FourBridgesRedirectAndTwoOnlyValidateTheirSource) {
  const Machine machine = read("lspci/h100-host.lspci-vvv.txt");
  std::vector<std::string> redirecting, validating;
  for (const Switch& bridge : machine.switches) {
    if (!bridge.access_control) continue;
    const AccessControl& control = *bridge.access_control;
    EXPECT_EQ(control.request_redirect, control.completion_redirect);
    if (control.request_redirect) {
      redirecting.push_back(to_string(*bridge.pci.address));
    } else if (control.source_validation) {
      validating.push_back(to_string(*bridge.pci.address));
    }
  }
  EXPECT_THAT(redirecting,
              ElementsAre("0000:82:00.0", "0000:82:01.0", "0000:82:02.0", "0000:82:03.0"));
  EXPECT_THAT(validating, ElementsAre("0000:00:0c.0", "0000:00:0e.0"));
  EXPECT_EQ(machine.gpus.size(), 8U);
  EXPECT_EQ(machine.nics.size(), 14U);
  EXPECT_EQ(machine.nvswitches.size(), 4U);
  EXPECT_EQ(machine.switches.size(), 59U);
  EXPECT_THAT(machine.findings, IsEmpty());

  // The same host without root: lspci prints this in place of all capabilities.
  Recording plain{"user.txt", ""};
  std::istringstream text(load(corpus() / "lspci/h100-host.lspci-vvv.txt").text);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("\t\t")) continue;
    plain.text +=
        line.starts_with("\tCapabilities") ? "\tCapabilities: <access denied>\n" : line + "\n";
  }
  const Machine user = read_recording(plain).machine;
  for (const Switch& bridge : user.switches) EXPECT_EQ(bridge.access_control, std::nullopt);
  EXPECT_THAT(messages(user.findings, "access-control-unknown"), HasSubstr("cannot be told"));
}

TEST_F(Acceptance, T13_AContainersTwoNicsAreNearAndItsAffinityIsUnknown) {
  const Machine machine = read("smi-topo/container-2gpu-8nic-no-affinity.txt");
  for (int g = 0; g < 2; ++g) {
    for (int n = 0; n < 8; ++n)
      EXPECT_EQ(label(machine, gpu(g), nic(n)), n >= 6 ? "PXB" : "SYS") << g << n;
    EXPECT_EQ(machine.gpus[static_cast<std::size_t>(g)].numa, std::nullopt);
    EXPECT_EQ(machine.gpus[static_cast<std::size_t>(g)].cpus, std::nullopt);
  }
  EXPECT_EQ(label(machine, gpu(0), gpu(1)), "NV12");
  EXPECT_THAT(codes(machine.findings), ElementsAre("affinity-unknown"));
}

TEST_F(Acceptance, T13_TheMatrixOfPcieSaysThatNvlinkIsUnknown) {
  const Machine machine = read("smi-topo/h100-dell-12nic-topo-mp.txt");
  EXPECT_THAT(codes(machine.findings), ElementsAre("nvlink-not-shown"));
  EXPECT_EQ(label(machine, gpu(4), nic(8)), "PIX");
  EXPECT_EQ(label(machine, gpu(7), nic(11)), "PIX");
  EXPECT_EQ(machine.gpus[4].cpus->to_list(), "1,3,5,7,9,11");
  for (const auto& [file, count] : kCounts) {
    if (file.find("topo-mp") != std::string::npos) continue;
    EXPECT_THAT(codes(read("smi-topo/" + file).findings), Not(Contains("nvlink-not-shown")))
        << file;
  }
}

TEST_F(Acceptance, T15_TheTableOf72GpusHasItsBusBandwidth) {
  const NcclTestsTable table =
      read_nccl_tests(load(corpus() / "nccl-tests/gb200-nvl72-72gpu-allreduce.txt"));
  ASSERT_EQ(table.rows.size(), 5U);
  const NcclTestsRow& row = table.rows.back();
  EXPECT_EQ(row.bytes, 8589934592U);
  const auto run = infer_run(table);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->collective, Collective::all_reduce);
  EXPECT_EQ(run->ranks, 72);
  EXPECT_NEAR(row.out_of_place.algbw_GBps * *bus_factor(Collective::all_reduce, 72),
              *row.out_of_place.busbw_GBps, 0.01);
  EXPECT_EQ(bandwidth_to_string(row.out_of_place.busbw_GBps), "834.57");
  EXPECT_EQ(row.in_place->busbw_GBps, 846.82);
  EXPECT_EQ(table.average_busbw_GBps, 745.53);
  EXPECT_EQ(bandwidth_to_string(bus_factor(Collective::all_reduce, 1)), "undefined");
}

TEST_F(Acceptance, T15_TheOldHeaderIsAccepted) {
  const NcclTestsTable table =
      read_nccl_tests(load(corpus() / "nccl-tests/v100-oldformat-allreduce.txt"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[1].out_of_place.busbw_GBps, 16.96);
  EXPECT_EQ(table.rows[1].out_of_place.error, 2e-07);
  const auto run = infer_run(table);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->collective, Collective::all_gather);
  EXPECT_EQ(run->ranks, 8);
}

TEST_F(SmiCorpus, RunsAreRefusedAsMachines) {
  for (const char* file : {"gb200-nvl72-72gpu-allreduce.txt", "v100-oldformat-allreduce.txt"}) {
    EXPECT_THROW((void)read(std::string("nccl-tests/") + file), ReadError);
  }
}

}  // namespace
}  // namespace lockstep::topology
