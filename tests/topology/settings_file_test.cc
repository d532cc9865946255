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

Machine read_settings(const std::string& text, const std::string& name = "job.env") {
  return read_recording({name, text}).machine;
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
  EXPECT_THAT(settings_of(machine),
              ElementsAre("NCCL_IB_HCA=[=mlx5_0,mlx5_1]", "NCCL_ALGO=[Ring, Tree]",
                          "NCCL_PROTO=[Simple]", "NCCL_DEBUG=[INFO]", "FI_PROVIDER=[efa]",
                          "CUDA_VISIBLE_DEVICES=[0,1]", "NCCL_NET_PLUGIN=[]"));
  EXPECT_THAT(machine.findings, IsEmpty());
  EXPECT_THAT(machine.sources, ElementsAre("settings-file"));
  EXPECT_EQ(machine.system.settings.front().origin, "job.env");
}

TEST(SettingsFile, NcclsOwnFileNeedsNoLineEnd) {
  EXPECT_THAT(
      settings_of(read_settings("NCCL_DEBUG=WARN\nNCCL_IB_HCA==mlx5_0\nNCCL_IB_SL=0", "nccl.conf")),
      ElementsAre("NCCL_DEBUG=[WARN]", "NCCL_IB_HCA=[=mlx5_0]", "NCCL_IB_SL=[0]"));
}

TEST(SettingsFile, WhatAShellWouldComputeIsNotKnown) {
  const Machine machine = read_settings(
      "export NCCL_SOCKET_IFNAME=$IFACE\n"
      "export NCCL_DEBUG_FILE='/tmp/$HOST'\n"
      "export NCCL_ALGO=\"Ring\n");
  EXPECT_THAT(settings_of(machine), ElementsAre("NCCL_DEBUG_FILE=[/tmp/$HOST]"));
  EXPECT_THAT(codes_of(machine), ElementsAre("value-unknown", "value-unknown"));
  EXPECT_EQ(machine.findings[0].where, "job.env:1");
  EXPECT_THAT(machine.findings[0].message, HasSubstr("\"$IFACE\" is computed by the shell"));
  EXPECT_THAT(machine.findings[1].message, HasSubstr("does not end on its line"));
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

// The same lines are other settings to NCCL and to a shell.
constexpr const char* kLines =
    "NCCL_DEBUG=\"INFO\"\n"
    "export NCCL_IB_SL=0\n"
    " NCCL_IB_TC=41\n"
    "NCCL_ALGO=Ring # not tree\n"
    "NCCL_NET = IB\n";

TEST(SettingsFile, AFileOfNcclsIsReadAsNcclDoesAndWhatItDoesNotTakeIsNamed) {
  for (const char* name : {"nccl.conf", "/etc/nccl.conf", "old/h100.conf"}) {
    const Machine machine = read_settings(kLines, name);
    EXPECT_THAT(settings_of(machine),
                ElementsAre("NCCL_DEBUG=[\"INFO\"]", "NCCL_ALGO=[Ring # not tree]"));
    ASSERT_THAT(codes_of(machine),
                ElementsAre("conf-value-literal", "conf-line-ignored", "conf-line-ignored",
                            "conf-value-literal", "conf-line-ignored"));
    const std::vector<std::string> remedies{"NCCL_DEBUG=INFO", "NCCL_IB_SL=0", "NCCL_IB_TC=41",
                                            "NCCL_ALGO=Ring", "NCCL_NET=IB"};
    for (std::size_t i = 0; i < remedies.size(); ++i) {
      EXPECT_EQ(machine.findings[i].where, fmt::format("{}:{}", name, i + 1));
      EXPECT_EQ(machine.findings[i].remedy, "write " + remedies[i]);
    }
  }
}

TEST(SettingsFile, TheSameLinesAreAShellsWhereTheFileIsAScript) {
  const std::vector<std::string> as_shell{"NCCL_DEBUG=[INFO]", "NCCL_IB_SL=[0]", "NCCL_IB_TC=[41]",
                                          "NCCL_ALGO=[Ring]"};
  for (const std::string start : {"#!/bin/bash\n", "#SBATCH -N 2\n", "srun hostname\n"}) {
    const Machine machine = read_settings(start + kLines, "nccl.conf");
    EXPECT_EQ(settings_of(machine), as_shell) << start;
    EXPECT_THAT(codes_of(machine), ElementsAre("not-a-setting")) << start;
  }
  EXPECT_EQ(settings_of(read_settings(kLines, "job.sh")), as_shell);
}

TEST(SettingsFile, LineEndsOfWindowsAreNamedOnce) {
  const Machine machine = read_settings("NCCL_DEBUG=WARN\r\nNCCL_IB_SL=0\r\n", "nccl.conf");
  EXPECT_THAT(settings_of(machine), ElementsAre("NCCL_DEBUG=[WARN\r]", "NCCL_IB_SL=[0\r]"));
  ASSERT_THAT(codes_of(machine), ElementsAre("conf-value-literal"));
  EXPECT_THAT(machine.findings[0].message, HasSubstr("2 lines in all"));
}

TEST(SettingsFile, ALineOfNcclsFileWithoutASignIsNamed) {
  const Machine machine = read_settings("NCCL_DEBUG INFO\nNCCL_IB_SL=0\n", "nccl.conf");
  EXPECT_THAT(settings_of(machine), ElementsAre("NCCL_IB_SL=[0]"));
  ASSERT_THAT(codes_of(machine), ElementsAre("conf-line-ignored"));
  EXPECT_THAT(machine.findings[0].message, HasSubstr("has no '='"));
}

TEST(SettingsFile, WhatStartsProgramsIsReadByItsFlags) {
  const Machine machine = read_settings(
      "#!/bin/bash\n"
      "#SBATCH -N 2\n"
      "module load cuda\n"
      "cd /work\n"
      "mpirun -np 16 -x NCCL_IB_HCA==mlx5_0,mlx5_1 -x PATH -x \"NCCL_ALGO=Ring, Tree\" \\\n"
      "  -x NCCL_DEBUG=INFO ./train\n"
      "mpiexec -genv NCCL_IB_SL 1 ./train\n"
      "srun --export=ALL,NCCL_IB_TC=106 ./train\n"
      "NCCL_PROTO=Simple ./train --lr=0.1\n"
      "export NCCL_PROTO\n");
  EXPECT_THAT(
      settings_of(machine),
      ElementsAre("NCCL_IB_HCA=[=mlx5_0,mlx5_1]", "NCCL_ALGO=[Ring, Tree]", "NCCL_DEBUG=[INFO]",
                  "NCCL_IB_SL=[1]", "NCCL_IB_TC=[106]", "NCCL_PROTO=[Simple]"));
  EXPECT_THAT(machine.findings, IsEmpty());
  EXPECT_TRUE(is_settings_file("mpirun -np 2 \\\n -x NCCL_DEBUG=INFO \\\n ./train\n"));
}

TEST(SettingsFile, PlacesThatWereNotFilledInAreNamed) {
  for (const char* value : {"{{hpcx_path}}", "<interface>", "${IFACE}", "lib-{{ name }}.so"}) {
    for (const char* name : {"nccl.conf", "job.env"}) {
      const Machine machine =
          read_settings(fmt::format("NCCL_DEBUG=WARN\nNCCL_NET_PLUGIN={}\n", value), name);
      ASSERT_FALSE(machine.findings.empty()) << name << ": " << value;
      EXPECT_EQ(machine.findings[0].where, fmt::format("{}:2", name)) << value;
      if (std::string(value).find(' ') != std::string::npos && name == std::string("job.env"))
        continue;  // to a shell these are several words
      EXPECT_THAT(codes_of(machine), ElementsAre("value-unfilled")) << name << ": " << value;
    }
  }
  EXPECT_THAT(read_settings("NCCL_DEBUG_FILE=/tmp/a<b.log\nNCCL_DEBUG=WARN\n").findings, IsEmpty());
}

TEST(SettingsFile, TheProviderIsTheOneThatTheFileStates) {
  const auto provider = [](const std::string& text, const std::string& name) {
    return read_settings(text, name).system.provider;
  };
  EXPECT_EQ(provider("NCCL_DEBUG=WARN\n", "nccl.conf"), Provider::none);
  EXPECT_EQ(provider("# written by OCI's playbook\nNCCL_DEBUG=WARN\n", "nccl.conf"), Provider::oci);
  EXPECT_EQ(provider("NCCL_DEBUG=WARN\n# for AWS\n", "nccl.conf"), Provider::none) << "no heading";
  EXPECT_EQ(provider("# for AWS or Azure\nNCCL_DEBUG=WARN\n", "nccl.conf"), Provider::none);
  EXPECT_EQ(provider("NCCL_DEBUG=WARN\n", "settings/aws-p5.env"), Provider::aws);
  EXPECT_EQ(provider("NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml\n", "aws.env"), Provider::azure)
      << "what is set says more than a name";
  EXPECT_EQ(provider("export FI_PROVIDER=efa\nexport NCCL_DEBUG=WARN\n", "x"), Provider::aws);
  EXPECT_EQ(provider("NCCL_FASTRAK_USE_SNAP=1\n", "x"), Provider::gcp);
  EXPECT_EQ(provider("NCCL_IB_SL=0\nNCCL_IB_TC=41\nNCCL_IB_GID_INDEX=3\n", "x"), Provider::oci);
  EXPECT_EQ(provider("NCCL_IB_TC=41\nNCCL_IB_GID_INDEX=3\n", "x"), Provider::none);
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
