// Tables of nccl-tests.
#include "topology/nccl_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/topology/smi_readings.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ranks(int count) {
  std::string text =
      "# nccl-tests version 2.17.1\n# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor)\n# Using devices\n";
  for (int rank = 0; rank < count; ++rank)
    text += fmt::format("#  Rank {:2} Group  0 Pid   4711 on  node7 device {:2} [0x07] H100\n",
                        rank, rank);
  return text;
}

constexpr const char* kHeader =
    "#\n#                                   out-of-place                in-place\n"
    "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
    "#   (B)  (elements)               (us)  (GB/s)  (GB/s)        (us)  (GB/s)  (GB/s)\n";

TEST(NcclTests, RowsHeaderAndFooterAreRead) {
  const NcclTestsTable table =
      read_nccl_tests({"all_reduce.txt",
                       ranks(4) + kHeader +
                           "  1024  256  float  sum  -1  10.24  0.10  0.15  0  20480  "
                           "0.05  0.07  N/A\n"
                           "# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 0.11 \n"});
  EXPECT_EQ(table.collective, Collective::all_reduce);
  EXPECT_EQ(table.ranks, 4);
  EXPECT_EQ(table.version, "2.17.1");
  ASSERT_EQ(table.rows.size(), 1U);
  const NcclTestsRow& row = table.rows[0];
  EXPECT_EQ(row.bytes, 1024U);
  EXPECT_EQ(row.count, 256U);
  EXPECT_EQ(row.type, "float");
  EXPECT_EQ(row.op, "sum");
  EXPECT_EQ(row.root, std::nullopt);
  EXPECT_EQ(row.out_of_place.time_us, 10.24);
  EXPECT_EQ(row.out_of_place.busbw_GBps, 0.15);
  EXPECT_EQ(row.out_of_place.wrong, 0);
  ASSERT_TRUE(row.in_place);
  EXPECT_EQ(row.in_place->time_us, 20480);
  EXPECT_EQ(row.in_place->wrong, std::nullopt);
  EXPECT_EQ(table.average_busbw_GBps, 0.11);
  EXPECT_EQ(table.out_of_bounds, 3);
  EXPECT_THAT(table.findings, IsEmpty());
}

TEST(NcclTests, TheOldHeaderIsRead) {
  const NcclTestsTable table = read_nccl_tests(
      {"old.txt",
       "#   size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\r\n"
       "  1024  256  float  sum  88.70  5.91  5.17  2e-07  87.54  5.99  5.24  2e-07\r\n"});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].out_of_place.error, 2e-07);
  EXPECT_EQ(table.rows[0].in_place->algbw_GBps, 5.99);
  EXPECT_EQ(table.ranks, std::nullopt);
}

TEST(NcclTests, OneRankHasNoBusBandwidth) {
  const NcclTestsTable table = read_nccl_tests(
      {"one.txt", ranks(1) + kHeader +
                      "  1024  256  float  sum  -1  10.24  0.10  0.00  0  20.48  0.05  0.00  0\n"
                      "# Avg bus bandwidth    : 0 \n"});
  EXPECT_EQ(table.rows.at(0).out_of_place.algbw_GBps, 0.10);
  EXPECT_EQ(bandwidth_to_string(table.rows[0].out_of_place.busbw_GBps), "undefined");
  EXPECT_EQ(bandwidth_to_string(table.rows[0].in_place->busbw_GBps), "undefined");
  EXPECT_EQ(table.average_busbw_GBps, std::nullopt);
  for (const Collective collective : {Collective::all_reduce, Collective::broadcast})
    EXPECT_EQ(bus_factor(collective, 1), std::nullopt);
}

TEST(NcclTests, FactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(*bus_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(*bus_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(*bus_factor(Collective::all_gather, 2), 0.5);
  EXPECT_DOUBLE_EQ(*bus_factor(Collective::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(*bus_factor(Collective::broadcast, 8), 1);
  EXPECT_EQ(bus_factor(Collective::unknown, 8), std::nullopt);
}

TEST(NcclTests, ARowOfAnotherShapeIsSaidAndTheOthersAreRead) {
  const NcclTestsTable table = read_nccl_tests(
      {"cut.txt", std::string(kHeader) +
                      "  1024  256  float  sum  -1  10.24  0.10  0.15  0  20.48  0.05  0.07  0\n"
                      "  2048  512  float  sum  -1  10.24  0.1\n"});
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_THAT(messages(table.findings, "row-refused"), HasSubstr("2048"));
  EXPECT_EQ(table.findings.at(0).where, "cut.txt:6");
}

TEST(NcclTests, AsARecordingOfAMachineItIsRefusedByName) {
  try {
    (void)read_recording({"run.txt", ranks(2) + kHeader});
    FAIL();
  } catch (const ReadError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nccl-tests output describes a run, not a machine"));
  }
}

}  // namespace
}  // namespace lockstep::topology
