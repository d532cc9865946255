// The measured table: what is read, and what is said of lines that are not.
#include "topology/tuner/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep::topology::tuner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(TunerTable, EveryFieldIsRead) {
  const Table table = parse_table("allgather,1024,65536,nvls_tree,ll128,12,4,32,3,1\n");
  EXPECT_THAT(table.errors, IsEmpty());
  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_EQ(table.rows[0], (Row{.collective = Collective::all_gather,
                                .min_bytes = 1024,
                                .max_bytes = 65536,
                                .algorithm = Algorithm::nvls_tree,
                                .protocol = Protocol::ll128,
                                .channels = 12,
                                .nodes = 4,
                                .ranks = 32,
                                .pipe_ops = 3,
                                .registered = 1}));
}

TEST(TunerTable, WhatIsLeftOutOrMinusOneIsAny) {
  const Row any{.collective = Collective::reduce};
  EXPECT_EQ(parse_table("reduce,-1,-1,ring,simple,-1,-1,-1").rows.at(0), any);
  EXPECT_EQ(parse_table("reduce,0,-1,ring,simple,-1,-1,-1,-1,-1").rows.at(0), any);
}

TEST(TunerTable, IsReadAsPeopleWriteIt) {
  const Table table = parse_table(
      "\xef\xbb\xbf"
      "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\r\n"
      "# measured on Monday\r\n"
      "\r\n"
      "  all_reduce , 0 , 4294967295 , Tree , LL , -1 , 1 , -1   # small\r\n"
      "Broadcast,0,10,CollnetDirect,Simple,64,-1,-1");
  EXPECT_THAT(table.errors, IsEmpty());
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(table.rows[0].algorithm, Algorithm::tree);
  EXPECT_EQ(table.rows[0].max_bytes, 4294967295U);
  EXPECT_EQ(table.rows[1].algorithm, Algorithm::collnet_direct);
  EXPECT_EQ(table.rows[1].channels, 64);
}

TEST(TunerTable, AWrongLineIsNamedAndTheOthersAreRead) {
  const Table table = parse_table(
      "allreduce,0,1,ring,simple,-1,-1,-1\n"
      "allreduce,0,1,ring\n"
      "allreduce,0,1,ring,simple,-1,-1,-1,-1,-1,-1\n"
      "sendrecv,0,1,ring,simple,-1,-1,-1\n"
      "allreduce,0,1,rung,simple,-1,-1,-1\n"
      "allreduce,0,1,ring,ll64,-1,-1,-1\n"
      "allreduce,0,1,ring,simple,65,-1,-1\n"
      "allreduce,9,1,ring,simple,-1,-1,-1\n"
      "allreduce,0,1k,ring,simple,-1,-1,-1\n"
      "allreduce,0,99999999999999999999,ring,simple,-1,-1,-1\n"
      "allreduce,0,1,ring,simple,-1,0,-1\n"
      "allreduce,0,1,ring,simple,-1,-1,-1,-1,2\n"
      "allreduce,0,1,ring,simple,,-1,-1\n"
      "allreduce,2,3,tree,ll,-1,-1,-1\n");
  EXPECT_THAT(table.rows, SizeIs(2));
  ASSERT_THAT(table.errors, SizeIs(12));
  for (std::size_t i = 0; i < table.errors.size(); ++i)
    EXPECT_EQ(table.errors[i].line, static_cast<int>(i) + 2);
  EXPECT_THAT(table.errors[0].message, HasSubstr("expected 8 to 10 fields"));
  EXPECT_THAT(table.errors[0].message, HasSubstr("found 4"));
  EXPECT_THAT(table.errors[2].message, HasSubstr("collective is \"sendrecv\", expected one of"));
  EXPECT_THAT(table.errors[5].message,
              HasSubstr("channels is \"65\", expected -1 or a number from 1 to 64"));
  EXPECT_THAT(table.errors[6].message,
              HasSubstr("max is \"1\", expected at least min, which is 9"));
  EXPECT_THAT(table.errors[7].message, HasSubstr("max is \"1k\""));
}

TEST(TunerTable, NoiseIsErrorsNotRows) {
  std::string noise;
  unsigned state = 1;
  for (int i = 0; i < 100'000; ++i) {
    state = state * 1664525U + 1013904223U;
    noise += static_cast<char>(state >> 24);
  }
  EXPECT_THAT(parse_table(noise).rows, IsEmpty());
  EXPECT_THAT(parse_table(std::string(100'000, ',')).errors, SizeIs(1));
  EXPECT_THAT(parse_table("").rows, IsEmpty());
}

}  // namespace
}  // namespace lockstep::topology::tuner
