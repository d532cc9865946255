#include "topology/readers/settings_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Machine read_settings(const std::string& text) {
  return read_recording({"job.env", text}).machine;
}

std::vector<std::string> settings_of(const Machine& machine) {
  std::vector<std::string> all;
  for (const Setting& setting : machine.system.settings)
    all.push_back(fmt::format("{}=[{}]", setting.variable, setting.value));
  return all;
}

std::vector<std::string> codes_of(const Machine& machine) {
  std::vector<std::string> codes;
  for (const Finding& finding : machine.findings) codes.push_back(finding.code);
  return codes;
}

TEST(SettingsFile, AScriptIsReadAsItsShellDoes) {
  const Machine machine = read_settings(
      "#!/bin/bash\n"
      "# rails\n"
      "export NCCL_IB_HCA==mlx5_0,mlx5_1   # without storage\n"
      "  export NCCL_ALGO=\"Ring, Tree\" NCCL_PROTO='Simple'\r\n"
      "NCCL_DEBUG=IN\"FO\"; export FI_PROVIDER=efa\n"
      "declare -x CUDA_VISIBLE_DEVICES=\"0,1\"\n"
      "export PATH=/opt/bin OMP_NUM_THREADS=8\n"
      "export NCCL_NET_PLUGIN=\n");
  EXPECT_THAT(
      settings_of(machine),
      ElementsAre("NCCL_IB_HCA=[=mlx5_0,mlx5_1]", "NCCL_ALGO=[Ring, Tree]", "NCCL_PROTO=[Simple]",
                  "NCCL_DEBUG=[INFO]", "CUDA_VISIBLE_DEVICES=[0,1]", "NCCL_NET_PLUGIN=[]"));
  EXPECT_THAT(machine.findings, IsEmpty());
  EXPECT_THAT(machine.sources, ElementsAre("settings-file"));
  EXPECT_EQ(machine.system.settings.front().origin, "job.env");
}

TEST(SettingsFile, NcclsOwnFileNeedsNoLineEnd) {
  EXPECT_THAT(
      settings_of(read_settings("NCCL_DEBUG=WARN\nNCCL_NET_PLUGIN={{hpcx_path}}\nNCCL_IB_SL=0")),
      ElementsAre("NCCL_DEBUG=[WARN]", "NCCL_NET_PLUGIN=[{{hpcx_path}}]", "NCCL_IB_SL=[0]"));
}

TEST(SettingsFile, WhatAShellWouldComputeIsNotKnown) {
  const Machine machine = read_settings(
      "export NCCL_SOCKET_IFNAME=$IFACE\n"
      "export NCCL_DEBUG_FILE='/tmp/$HOST'\n"
      "export NCCL_ALGO=\"Ring\n");
  EXPECT_THAT(settings_of(machine), ElementsAre("NCCL_DEBUG_FILE=[/tmp/$HOST]"));
  EXPECT_THAT(codes_of(machine), ElementsAre("value-unknown", "value-unknown"));
  EXPECT_EQ(machine.findings[0].where, "job.env:1");
  EXPECT_EQ(machine.findings[0].severity, Severity::info);
  EXPECT_EQ(machine.findings[1].severity, Severity::warning);
}

TEST(SettingsFile, OfANameSetTwiceTheOneThatCountsIsTaken) {
  const Machine conf = read_settings("NCCL_IB_TC=106\nNCCL_IB_TC=41\nNCCL_IB_SL=0\nNCCL_IB_SL=0\n");
  EXPECT_THAT(settings_of(conf), ElementsAre("NCCL_IB_TC=[106]", "NCCL_IB_SL=[0]"));
  ASSERT_THAT(codes_of(conf), ElementsAre("set-twice"));
  EXPECT_THAT(conf.findings[0].message, HasSubstr("the first counts"));
  const Machine script = read_settings("export NCCL_IB_TC=106\nexport NCCL_IB_TC=41\n");
  EXPECT_THAT(settings_of(script), ElementsAre("NCCL_IB_TC=[41]"));
}

TEST(SettingsFile, BlanksAroundTheSignAreSaid) {
  const Machine machine = read_settings("NCCL_IB_SL=0\nNCCL_IB_TC = 41\nNCCL_DEBUG=WARN\n");
  EXPECT_THAT(settings_of(machine), ElementsAre("NCCL_IB_SL=[0]", "NCCL_DEBUG=[WARN]"));
  ASSERT_THAT(codes_of(machine), ElementsAre("not-a-setting"));
  EXPECT_THAT(machine.findings[0].message, HasSubstr("NCCL_IB_TC = 41"));
}

TEST(SettingsFile, OtherTextIsNone) {
  EXPECT_FALSE(is_settings_file(""));
  EXPECT_FALSE(is_settings_file("PATH=/bin\nHOME=/root\n")) << "nothing of NCCL";
  EXPECT_FALSE(is_settings_file("run this:\nNCCL_DEBUG=INFO\nand look\nat the log\n"));
  EXPECT_FALSE(is_settings_file("SwitchName=s1 Nodes=n[1-4]\n"));
  EXPECT_FALSE(is_settings_file("host:1:1 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0\n"));
}

TEST(SettingsFile, NoiseIsReadInPart) {
  std::string text = "NCCL_DEBUG=WARN\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("NCCL_X{}=\"\\\n", i);
  const Machine machine = read_settings(text);
  EXPECT_THAT(machine.system.settings, SizeIs(1));
  EXPECT_THAT(machine.findings, SizeIs(65)) << "64 and how many more";
}

}  // namespace
}  // namespace lockstep::topology
