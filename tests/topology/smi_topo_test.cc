// Matrices of `nvidia-smi topo`: every form that is printed, and no cell in its neighbour's column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/topology/smi_readings.h"
#include "topology/readers/formats.h"
#include "topology/readers/smi_p2p.h"
#include "topology/readers/smi_topo.h"

namespace lockstep::topology {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Machine read_topo(const std::string& text) {
  const Recording recording{"topo.txt", text};
  EXPECT_TRUE(is_smi_topo(text));
  EXPECT_FALSE(is_smi_p2p(text));
  return read_smi_topo(recording).machine;
}

constexpr const char* kLegend =
    "\nLegend:\n\n  X    = Self\n  PIX  = Connection traversing at most a single PCIe bridge\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n";

const std::string kTwo =
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV4\tPIX\t0-3,8-11\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tSYS\t4-7\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \t\t\t\t\n";

void expect_two(const Machine& machine) {
  ASSERT_EQ(machine.gpus.size(), 2U);
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_THAT(machine.stated,
              ElementsAre(StatedPath{gpu(0), gpu(1), "NV4"}, StatedPath{gpu(0), nic(0), "PIX"},
                          StatedPath{gpu(1), nic(0), "SYS"}));
}

TEST(SmiTopo, EveryPairStandsOnceInTheOrderOfTheMatrix) {
  const Machine machine = read_topo(kTwo);
  expect_two(machine);
  EXPECT_EQ(machine.gpus[0].numa, 0);
  EXPECT_EQ(machine.gpus[1].numa, 1);
  EXPECT_EQ(machine.gpus[0].cpus->to_list(), "0-3,8-11");
  EXPECT_EQ(machine.gpus[0].memory_numa, std::nullopt);
  ASSERT_EQ(machine.numa.size(), 2U);
  EXPECT_EQ(machine.numa[1].cpus.to_list(), "4-7");
  EXPECT_THAT(machine.findings, IsEmpty());
}

TEST(SmiTopo, BlanksAndTabsAndCarriageReturnsReadTheSame) {
  expect_two(
      read_topo("        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity    GPU NUMA ID\n"
                "GPU0     X      NV4     PIX     0-3,8-11        0                N/A\n"
                "GPU1    NV4      X      SYS     4-7             1                N/A\n"
                "NIC0    PIX     SYS      X\n"));
  std::string crlf;
  for (const char c : kTwo) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expect_two(read_topo(crlf));
  // The header's leading tab is easily lost when it is copied.
  expect_two(read_topo(kTwo.substr(1)));
}

TEST(SmiTopo, TheHeaderMayBeUnderlinedForATerminal) {
  const std::size_t end = kTwo.find('\n');
  expect_two(read_topo("\x1b[4m" + kTwo.substr(0, end) + "\x1b[0m" + kTwo.substr(end)));
}

TEST(SmiTopo, NicsAreNamedByTheLegendOrByTheirColumns) {
  const Machine numbered = read_topo(kTwo + "\nNIC Legend:\n\n  NIC0: mlx5_bond_0\n");
  ASSERT_EQ(numbered.nics.size(), 1U);
  EXPECT_EQ(numbered.nics[0].name, "mlx5_bond_0");
  const Machine old = read_topo(
      "\tGPU0\tmlx5_3\trdmap16s27\tCPU Affinity\n"
      "GPU0\t X \tPHB\tSYS\t0-7\nmlx5_3\tPHB\t X \tSYS\t\nrdmap16s27\tSYS\tSYS\t X \t\n");
  ASSERT_EQ(old.nics.size(), 2U);
  EXPECT_EQ(old.nics[0].name, "mlx5_3");
  EXPECT_EQ(old.nics[1].name, "rdmap16s27");
  EXPECT_EQ(label(old, gpu(0), nic(1)), "SYS");
  EXPECT_EQ(read_topo(kTwo).nics[0].name, "") << "without a legend the name is unknown";
}

TEST(SmiTopo, APortInANameIsThePort) {
  const Machine columns = read_smi_topo({"m",
                                         "\tGPU0\tmlx4_1:2\tCPU Affinity\n"
                                         "GPU0\tX\tPIX\t0-3\n"
                                         "mlx4_1:2\tPIX\tX\n"})
                              .machine;
  const Machine legend = read_smi_topo({"m",
                                        "\tGPU0\tNIC0\tCPU Affinity\n"
                                        "GPU0\tX\tPIX\t0-3\n"
                                        "NIC0\tPIX\tX\n\nNIC Legend:\n\n"
                                        "  NIC0: mlx4_1:2\n"})
                             .machine;
  for (const Machine& machine : {columns, legend}) {
    ASSERT_EQ(machine.nics.size(), 1U);
    EXPECT_EQ(machine.nics[0].name, "mlx4_1");
    EXPECT_EQ(machine.nics[0].port, 2);
  }
}

TEST(SmiTopo, BlankAffinityIsUnknownAndNotNodeZero) {
  for (const char* text : {"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                           "GPU0\t X \tPIX\t\t\t\tN/A\nGPU1\tPIX\t X \t\t\t\tN/A\n",
                           "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
                           "GPU0     X      PIX                                     N/A\n"
                           "GPU1    PIX      X                                      N/A\n"}) {
    const Machine machine = read_topo(text);
    EXPECT_EQ(label(machine, gpu(0), gpu(1)), "PIX");
    EXPECT_EQ(machine.gpus[0].numa, std::nullopt);
    EXPECT_EQ(machine.gpus[0].cpus, std::nullopt);
    EXPECT_THAT(machine.numa, IsEmpty());
    EXPECT_THAT(messages(machine.findings, "affinity-unknown"), HasSubstr("GPU0, GPU1"));
  }
}

TEST(SmiTopo, AnAffinityThatStandsInNoColumnIsNotGuessed) {
  const Machine machine = read_topo(
      "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
      "GPU0     X      PIX            3        N/A\n"
      "GPU1    PIX      X      0-7             1                N/A\n");
  EXPECT_EQ(machine.gpus[0].numa, std::nullopt);
  EXPECT_EQ(machine.gpus[0].cpus, std::nullopt);
  EXPECT_EQ(machine.gpus[1].numa, 1);
  EXPECT_THAT(codes(machine.findings), Contains("affinity-refused"));
}

TEST(SmiTopo, OnGraceTheNodeIsTheOneWithCpusAndTheGpusMemoryIsItsOwn) {
  const Machine machine = read_topo(
      "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
      "GPU0     X      NV18    0-3             0,3-5           2\n"
      "GPU1    NV18     X      4-7             1,7-9           6\n");
  EXPECT_EQ(machine.gpus[0].numa, 0);
  EXPECT_EQ(machine.gpus[1].numa, 1);
  EXPECT_EQ(machine.gpus[1].memory_numa, 6);
  ASSERT_EQ(machine.numa.size(), 2U);
}

TEST(SmiTopo, WithoutANumaColumnSeparateCpusAreSeparateNodes) {
  const Machine apart =
      read_topo("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t8-15\nGPU1\tSYS\t X \t0-7\n");
  EXPECT_EQ(apart.gpus[0].numa, 1);
  EXPECT_EQ(apart.gpus[1].numa, 0);
  EXPECT_THAT(codes(apart.findings), ElementsAre("numa-inferred"));
  const Machine together =
      read_topo("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-7\nGPU1\tSYS\t X \t0-7\n");
  EXPECT_EQ(together.gpus[0].numa, std::nullopt) << "one set says nothing of its node";
}

TEST(SmiTopo, ARowWithAMissingCellIsRefusedAndTheOthersStillSayThePairs) {
  std::string text = kTwo;
  text.replace(text.find("NV4\tPIX"), 7, "\tPIX");  // GPU0's cell of GPU1 is blank
  const Machine machine = read_topo(text);
  expect_two(machine);
  EXPECT_THAT(messages(machine.findings, "row-refused"), HasSubstr("row of GPU0"));
  EXPECT_EQ(machine.gpus[0].numa, std::nullopt) << "nothing of a refused row is used";
  EXPECT_EQ(machine.findings[0].where, "topo.txt:2");
}

TEST(SmiTopo, NoCutOfTheTextPutsALabelOnAnotherPair) {
  const Machine whole = read_topo(kTwo);
  for (std::size_t size = 0; size < kTwo.size(); ++size) {
    const Recording cut{"cut.txt", kTwo.substr(0, size)};
    try {
      for (const StatedPath& path : read_smi_topo(cut).machine.stated) {
        if (path.from.index == 0 && path.to.index == 0 && path.label.empty()) continue;
        EXPECT_EQ(path.label, label(whole, path.from, path.to)) << size;
      }
    } catch (const ReadError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cut.txt")) << size;
    }
  }
}

TEST(SmiTopo, NoMissingWordPutsALabelOnAnotherPair) {
  const std::string four =
      "\tGPU0\tGPU1\tGPU2\tGPU3\n"
      "GPU0\t X \tNV1\tNV2\tNV3\nGPU1\tNV1\t X \tNV4\tNV5\n"
      "GPU2\tNV2\tNV4\t X \tNV6\nGPU3\tNV3\tNV5\tNV6\t X \n";
  const Machine whole = read_topo(four);
  std::size_t at = four.find('\n') + 1;
  int removed = 0;
  while ((at = four.find_first_not_of(" \t\n", at)) != std::string::npos) {
    const std::size_t end = four.find_first_of(" \t\n", at);
    std::string text = four;
    text.erase(at, end - at);
    const Machine machine = read_smi_topo({"gap.txt", text}).machine;
    EXPECT_THAT(machine.stated, ElementsAre(whole.stated[0], whole.stated[1], whole.stated[2],
                                            whole.stated[3], whole.stated[4], whole.stated[5]));
    EXPECT_EQ(machine.findings.empty(), false) << "without " << four.substr(at, end - at);
    ++removed;
    at = end;
  }
  EXPECT_EQ(removed, 20);
}

TEST(SmiTopo, CellsThatGrewTogetherArePartedOnlyWhereThereIsOneWay) {
  expect_two(
      read_topo("GPU0GPU1NIC0 CPU Affinity NUMA Affinity GPU NUMA ID\n"
                "GPU0 XNV4PIX 0-3 0 N/A\nGPU1NV4 XSYS4-7 1 N/A\nNIC0PIXSYS X\n"));
  // NV4 and 0-3, or NV40 and -3.
  const Machine machine = read_topo(
      "GPU0 GPU1 CPU Affinity NUMA Affinity\n"
      "GPU0 X NV40-3 0\nGPU1 NV4 X 4-7 1\n");
  EXPECT_EQ(label(machine, gpu(0), gpu(1)), "NV4");
  EXPECT_THAT(messages(machine.findings, "row-refused"), HasSubstr("GPU0"));
  EXPECT_EQ(machine.gpus[0].cpus, std::nullopt);
}

TEST(SmiTopo, HeadersAndRowsThatATerminalWrappedAreJoined) {
  expect_two(
      read_topo("        GPU0    GPU1\n    NIC0    CPU Affinity    NUMA Affinity    GPU NUMA ID\n"
                "GPU0     X      NV4\n     PIX     0-3,8-11        0                N/A\n"
                "GPU1    NV4      X\n      SYS     4-7             1                N/A\n"
                "NIC0    PIX     SYS\n      X\n" +
                std::string(kLegend)));
}

TEST(SmiTopo, ThePcieMatrixSaysThatNvlinkIsNotShown) {
  const std::string matrix = "\tGPU0\tGPU1\nGPU0\t X \tNODE\nGPU1\tNODE\t X \n";
  const std::string legend =
      "\nLegend:\n\n  X    = Self\n  PIX  = Connection traversing at most a single PCIe bridge\n";
  for (const std::string& text : {matrix + legend, "$ nvidia-smi topo -mp\n" + matrix}) {
    const Machine machine = read_topo(text);
    EXPECT_THAT(codes(machine.findings), Contains("nvlink-not-shown"));
    EXPECT_EQ(machine.findings[0].severity, Severity::info);
  }
  for (const std::string& text :
       {matrix, matrix + kLegend, "$ nvidia-smi topo -m\n" + matrix, kTwo + legend}) {
    EXPECT_THAT(codes(read_topo(text).findings), Not(Contains("nvlink-not-shown"))) << text;
  }
}

TEST(SmiTopo, NicsThatAreNotShownAreCounted) {
  for (const char* banner : {"Warning: 76 NICs found on the system but only displaying 1\n",
                             "Warning: 76 NICs found on the sys\n"}) {
    const Machine machine = read_topo(banner + kTwo);
    expect_two(machine);
    EXPECT_THAT(messages(machine.findings, "nics-not-shown"), HasSubstr("76 NICs and shows 1"));
  }
}

TEST(SmiTopo, AMatrixThatContradictsItselfIsSaid) {
  std::string text = kTwo;
  text.replace(text.rfind("SYS"), 3, "PHB");  // NIC0's row of GPU1
  const Machine machine = read_topo(text);
  EXPECT_EQ(label(machine, gpu(1), nic(0)), "SYS");
  EXPECT_THAT(messages(machine.findings, "matrix-contradicts-itself"),
              HasSubstr("GPU1 to NIC0 is SYS in one row and PHB in the other"));
}

TEST(SmiTopo, RowsThatWereNotPastedLeaveTheirPairsUnknown) {
  const Machine machine =
      read_topo("\tGPU0\tmlx5_0\tmlx5_1\tCPU Affinity\nGPU0\t X \tPIX\tNODE\t0-7\n");
  EXPECT_EQ(label(machine, gpu(0), nic(1)), "NODE");
  EXPECT_EQ(label(machine, nic(0), nic(1)), "");
  EXPECT_THAT(messages(machine.findings, "rows-missing"), HasSubstr("2 of 3 rows"));
}

TEST(SmiTopo, OneGpuIsAMatrixToo) {
  const Machine machine = read_recording({"one.txt",
                                          "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                                          "GPU0\t X \t0-15\t0\t\tN/A\n"})
                              .machine;
  EXPECT_THAT(machine.sources, ElementsAre("nvidia-smi-topo"));
  EXPECT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].numa, 0);
  EXPECT_THAT(machine.stated, IsEmpty());
}

TEST(SmiTopo, AHeaderWithoutARowThatCanBeReadIsRefusedWithItsLine) {
  const Recording recording{"t.txt", "\n\tGPU0\tGPU1\nGPU0\t X \nGPU1\tNV2\n"};
  try {
    (void)read_smi_topo(recording);
    FAIL();
  } catch (const ReadError& error) {
    EXPECT_EQ(error.line(), 2);
  }
}

TEST(SmiTopo, OfNoiseLittleIsKept) {
  std::string text = kTwo;
  for (int i = 0; i < 20000; ++i) text += "GPU0\t X \tGPU0\nGPU0 GPU1\n";
  const Machine machine = read_topo(text);
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_LE(machine.findings.size(), 70U);
  EXPECT_THAT(codes(machine.findings), Contains("more-damage"));
}

TEST(SmiP2p, EachDirectionIsAsItsRowSays) {
  const std::string text =
      "$ nvidia-smi topo -p2p w\n \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tOK\tX\n\nLegend:\n\n"
      "  X    = Self\n  OK   = Status Ok\n";
  EXPECT_TRUE(is_smi_p2p(text));
  EXPECT_FALSE(is_smi_topo(text));
  const Machine machine = read_recording({"p2p.txt", text}).machine;
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_THAT(machine.peers, ElementsAre(PeerStatus{gpu(0), gpu(1), 'w', "CNS"},
                                         PeerStatus{gpu(1), gpu(0), 'w', "OK"}));
  EXPECT_THAT(machine.findings, IsEmpty());
}

TEST(SmiP2p, SeveralMatricesAreReadAndAnUnnamedOneIsOfReading) {
  const Machine machine =
      read_recording({"p2p.txt",
                      "\tGPU0\tGPU1\n GPU0\tX\tNS\n GPU1\tNS\tX\n"
                      "# nvidia-smi topo -p2p n\n\tGPU0\tGPU1\n GPU0\tX\tU\n GPU1\tTNS\tX\n"})
          .machine;
  ASSERT_EQ(machine.peers.size(), 4U);
  EXPECT_EQ(machine.peers[0], (PeerStatus{gpu(0), gpu(1), 'r', "NS"}));
  EXPECT_EQ(machine.peers[3], (PeerStatus{gpu(1), gpu(0), 'n', "TNS"}));
  EXPECT_THAT(codes(machine.findings), ElementsAre("capability-assumed"));
}

}  // namespace
}  // namespace lockstep::topology
