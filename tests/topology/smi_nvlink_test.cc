// Ports of `nvidia-smi nvlink`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/topology/smi_readings.h"
#include "topology/readers/formats.h"
#include "topology/readers/smi_nvlink.h"

namespace lockstep::topology {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Machine read_nvlink(const std::string& text) {
  return read_recording({"nvlink.txt", text}).machine;
}

const std::string kStatus =
    "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1a)\n"
    "\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n"
    "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-2b)\n\t Link 0: 25.5 GB/s\n";

TEST(SmiNvlink, SpeedsAndInactivePortsAreRead) {
  const Machine machine = read_nvlink(kStatus);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(machine.gpus[1].uuid, "GPU-2b");
  ASSERT_EQ(machine.gpus[0].nvlinks.size(), 2U);
  EXPECT_TRUE(machine.gpus[0].nvlinks[0].active);
  EXPECT_EQ(machine.gpus[0].nvlinks[0].GBps, 25.0);
  EXPECT_FALSE(machine.gpus[0].nvlinks[1].active);
  EXPECT_EQ(machine.gpus[0].nvlinks[1].GBps, std::nullopt);
  EXPECT_THAT(machine.findings, IsEmpty());
}

TEST(SmiNvlink, TheOtherEndsAreAddedToTheSamePorts) {
  const Machine machine = read_nvlink(kStatus +
                                      "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1a)\r\n"
                                      "\t Link 0: Remote Device 00000008:C7:00.0: Link 32\r\n");
  const NvlinkPort& port = machine.gpus[0].nvlinks[0];
  EXPECT_EQ(port.GBps, 25.0);
  EXPECT_EQ(port.remote, (PciAddress{8, 0xc7, 0, 0}));
  EXPECT_EQ(machine.gpus[0].nvlinks.size(), 2U);
}

TEST(SmiNvlink, AGpuKeepsItsNumberAndThoseLeftOutAreSaid) {
  const Machine machine = read_nvlink("GPU 2: Tesla V100 (UUID: ...)\n  Link 4: 25.781 GB/s\n");
  ASSERT_EQ(machine.gpus.size(), 3U);
  EXPECT_EQ(machine.gpus[2].nvlinks[0].number, 4);
  EXPECT_EQ(machine.gpus[2].uuid, "");
  EXPECT_THAT(messages(machine.findings, "gpus-not-shown"), HasSubstr("GPU0, GPU1"));
}

TEST(SmiNvlink, AnUnseenSwitchIsAnActivePortToAnUnknownDevice) {
  const Machine machine =
      read_nvlink("GPU 0: H100 (UUID: GPU-1)\n  Link 0: Remote Device fffffff:ffff:ff: Link 1\n");
  EXPECT_TRUE(machine.gpus[0].nvlinks[0].active);
  EXPECT_EQ(machine.gpus[0].nvlinks[0].remote, std::nullopt);
  EXPECT_THAT(codes(machine.findings), ElementsAre("nvlink-port-refused"));
}

TEST(SmiNvlink, NoActiveLinkAtAllIsOnlySaid) {
  const Machine machine = read_nvlink(
      "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\n"
      "NVML: Unable to retrieve NVLink information as all links are inActive\n");
  EXPECT_THAT(machine.gpus.at(0).nvlinks, IsEmpty());
  ASSERT_EQ(machine.findings.size(), 1U);
  EXPECT_EQ(machine.findings[0].severity, Severity::info);
}

TEST(SmiNvlink, ImpossibleNumbersAreRefusedWithTheirLine) {
  for (const char* text : {"GPU 0: a (UUID: b)\n Link 0: 25 GB/s\n Link 9999999: 25 GB/s\n",
                           "GPU 0: a (UUID: b)\n Link 0: 25 GB/s\nGPU 2147483647: x\n"}) {
    try {
      (void)read_nvlink(text);
      ADD_FAILURE() << text;
    } catch (const ReadError& error) {
      EXPECT_EQ(error.line(), 3);
    }
  }
}

TEST(SmiNvlink, PortsThatCannotBeUnderstoodAreNamed) {
  const Machine machine =
      read_nvlink("GPU 0: a (UUID: b)\n Link 0: 25 GB/s\n Link 1: fast GB/s\n Link 2: what\n");
  EXPECT_EQ(machine.gpus[0].nvlinks.size(), 1U);
  EXPECT_THAT(messages(machine.findings, "nvlink-port-refused"), HasSubstr("link 1 of GPU0"));
  EXPECT_THAT(messages(machine.findings, "nvlink-port-refused"), HasSubstr("link 2 of GPU0"));
}

}  // namespace
}  // namespace lockstep::topology
