// `lockstep probe` and `lockstep tune` as a user types them, and what `lockstep launch` takes from
// them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/launcher/launched.h"
#include "tests/launcher/local_sshd.h"

namespace lockstep::launcher {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Ran {
  int code = 0;
  std::string out, err;
};

Ran run(const Launched::Setup& setup) {
  Launched launched(setup);
  const int code = launched.wait();
  return {code, launched.out(), launched.err()};
}

Ran run(const std::vector<std::string>& args) {
  return run(Launched::Setup{.args = args});
}

bool has_nvidia_gpu() {
  return std::filesystem::exists("/proc/driver/nvidia/version");
}

// Two GPUs on a bridge of three NVLinks, each with an adapter of its own.
constexpr const char* kMatrix =
    "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\tPIX\tSYS\t0-7\t0\n"
    "GPU1\tNV4\t X \tSYS\tPIX\t8-15\t1\n"
    "NIC0\tPIX\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tPIX\tSYS\t X \n\n"
    "NIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";

class Files : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }

 private:
  TemporaryFolder folder_;
};

TEST(Probe, SaysInPlainWordsWhatThisHostIs) {
  const Ran text = run({"probe"});
  EXPECT_EQ(text.code, 0) << text.err;
  const Ran as_json = run({"probe", "--format", "json"});
  ASSERT_EQ(as_json.code, 0) << as_json.err;
  const json host = json::parse(as_json.out)["hosts"][0];
  EXPECT_EQ(host["cpu"]["threads"], ::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_FALSE(host["numa"].empty());
  if (has_nvidia_gpu()) return;
  EXPECT_THAT(text.out, HasSubstr("no GPU"));
  EXPECT_TRUE(host["gpus"].empty());
}

TEST(Probe, AnOrdinaryUserAndAHostWithoutSysSeeNoLessThanThereIs) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root to become somebody else";
  // The build tree may lie where others may not look; the program is copied to where they may.
  for (const std::vector<std::string>& through :
       {std::vector<std::string>{"/usr/bin/setpriv", "--reuid=65534", "--clear-groups"},
        {"/usr/bin/unshare", "--mount", "/bin/sh", "-c",
         "mount -t tmpfs none /sys && exec \"$0\" \"$@\""}}) {
    const Ran ran = run({.args = {"probe", "--format", "json"}, .through = through});
    if (ran.code == 126 || ran.code == 127) GTEST_SKIP() << "SKIPPED: " << ran.err;
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(json::parse(ran.out)["hosts"][0]["cpu"]["threads"], ::sysconf(_SC_NPROCESSORS_ONLN))
        << through.front();
  }
}

TEST_F(Files, SeveralRecordingsAreOneHost) {
  const std::string matrix = file("matrix.txt", kMatrix);
  const std::string ports =
      file("ports.txt", "mlx5_0 port 1 ==> ib0 (Up)\nmlx5_1 port 1 ==> ib1 (Up)\n");
  const Ran ran =
      run({"probe", "--format", "json", "--gpus", "2", "--from", matrix, "--from", ports});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json cluster = json::parse(ran.out);
  ASSERT_EQ(cluster["hosts"].size(), 1U);
  EXPECT_EQ(cluster["hosts"][0]["nics"][1]["netdev"], "ib1");
  EXPECT_EQ(cluster["placement"], json({"GPU0", "GPU1"}));
  const std::string again = file("again.json", ran.out);
  const Ran read = run({"probe", "--format", "json", "--gpus", "2", "--from", again});
  EXPECT_EQ(read.out, ran.out) << read.err;
}

TEST_F(Files, WhatCannotBeReadIsNamedWithItsReason) {
  const Ran unknown = run({"probe", "--from", file("notes.txt", "milk, bread\n")});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("notes.txt: not a recording that can be read"));
  const Ran missing = run({"tune", "--from", "/no/such/file"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("/no/such/file: no such file"));
  EXPECT_EQ(run({"probe", "--from", file("m.txt", kMatrix), "--gpus", "3"}).code, 2);
}

TEST_F(Files, ATopologyFileOfSettingsAloneIsRefused) {
  const Ran ran =
      run({"probe", "--format", "nccl-xml", "--from", file("job.env", "NCCL_DEBUG=INFO\n")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("there is nothing to write"));
}

TEST_F(Files, AChoiceByPcieAloneSaysSo) {
  const std::string matrix = file("mp.txt",
                                  "$ nvidia-smi topo -mp\n"
                                  "\tGPU0\tGPU1\tCPU Affinity\n"
                                  "GPU0\tX\tNODE\t0-3\n"
                                  "GPU1\tNODE\tX\t0-3\n");
  EXPECT_THAT(run({"probe", "--gpus", "2", "--from", matrix}).out,
              HasSubstr("GPU0, GPU1; by PCIe alone, since this recording does not show NVLink"));
  const Ran ran = run({"probe", "--format", "json", "--gpus", "2", "--from", matrix});
  EXPECT_THAT(json::parse(ran.out)["placement_caveat"].get<std::string>(),
              HasSubstr("does not show NVLink"));
}

TEST(Probe, FlagsThatDoNotGoTogetherAreWrongUsage) {
  const Ran both = run({"probe", "--hosts", "a", "--from", "b"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("do not go together"));
  const Ran format = run({"probe", "--format", "picture"});
  EXPECT_EQ(format.code, 2);
  EXPECT_THAT(format.err, HasSubstr("picture"));
}

TEST_F(Files, TuneExplainsAndWritesWhatItSays) {
  const std::string matrix = file("matrix.txt", kMatrix);
  const std::string ports =
      file("ports.txt", "mlx5_0 port 1 ==> ib0 (Up)\nmlx5_1 port 1 ==> eth1 (Down)\n");
  for (const char* format : {"env", "conf", "json"}) {
    const Ran ran =
        run({"tune", "--format", format, "--nccl", "2.27", "--from", matrix, "--from", ports});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("2.27"));
  }
  EXPECT_THAT(run({"tune", "--explain", "--from", matrix}).out,
              HasSubstr("GPU1  NIC1 mlx5_1 (PIX)"));
  EXPECT_EQ(run({"tune", "--nccl", "soon", "--from", matrix}).code, 2);
}

TEST(Probe, AsksEveryHostAndNamesTheOneThatIsSilent) {
  if (!std::filesystem::exists(LocalSshd::kProgram))
    GTEST_SKIP() << "SKIPPED: no sshd here (openssh-server)";
  const LocalSshd sshd({"one", "two"});
  const Ran ran =
      run({"probe", "--format", "json", "--hosts", "one,gone.invalid,two", "--ssh", sshd.client()});
  EXPECT_EQ(ran.code, 1) << ran.err;
  const json cluster = json::parse(ran.out);
  ASSERT_EQ(cluster["hosts"].size(), 2U) << ran.out;
  EXPECT_EQ(cluster["hosts"][0]["name"], "one");
  EXPECT_EQ(cluster["hosts"][1]["name"], "two");
  EXPECT_THAT(cluster["findings"].dump(),
              AllOf(HasSubstr("host-not-reached"), HasSubstr("gone.invalid")));
  const Ran tune = run({"tune", "--hosts", "one,two", "--ssh", sshd.client()});
  EXPECT_EQ(tune.code, 0) << tune.err;
}

TEST(Tune, WithoutAHostThereIsNoAdviceButAReason) {
  const Ran silent = run({"tune", "--ssh", "/bin/false", "--hosts", "a,b"});
  EXPECT_EQ(silent.code, 1);
  EXPECT_EQ(silent.out, "");
  EXPECT_THAT(silent.err,
              AllOf(HasSubstr("a could not be reached"), HasSubstr("none was reached")));
  EXPECT_EQ(run({"tune", "--explain", "--ssh", "/bin/false", "--hosts", "a"}).code, 1);
}

TEST_F(Files, TuneSaysNothingOfHostsWhereThereIsOnlyAFabric) {
  const std::string conf = file("topology.conf", "SwitchName=s1 Nodes=node[1-4]\n");
  EXPECT_EQ(run({"probe", "--from", conf}).code, 0);
  const Ran ran = run({"tune", "--from", conf});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("no host to advise"));
}

// A leaf of one rail with two hosts; nothing joins it to another.
std::string rail(int number) {
  std::string text = fmt::format(
      "vendid=0x2c9\ndevid=0xd2f2\nSwitch\t65 \"S-a{}\"\t\t# \"leaf{}\"\n", number, number);
  for (int host = 1; host <= 2; ++host) {
    text += fmt::format("[{}]\t\"H-{}{}\"[1]\t\t# \"node{} mlx5_{}\" lid 9 4xNDR\n", host, host,
                        number, host, number);
  }
  for (int host = 1; host <= 2; ++host) {
    text += fmt::format(
        "\nvendid=0x2c9\ndevid=0x1021\nCa\t1 \"H-{}{}\"\t\t# \"node{} mlx5_{}\"\n"
        "[1](b8599f0300aa0001) \t\"S-a{}\"[{}]\t\t# lid 4 lmc 0 \"leaf{}\" lid 3 "
        "4xNDR\n",
        host, number, host, number, number, host, number);
  }
  return text;
}

TEST_F(Files, TuneKnowsRailsThatDoNotReachEachOtherByTheirFabric) {
  const std::string matrix = file("matrix.txt", kMatrix);
  const std::string first = file("rail0.txt", rail(0)), second = file("rail1.txt", rail(1));
  const Ran apart = run({"tune", "--from", matrix, "--from", first, "--from", second});
  EXPECT_EQ(apart.code, 0) << apart.err;
  EXPECT_THAT(apart.out, HasSubstr("export NCCL_CROSS_NIC=0\n"));
  const Ran why = run({"tune", "--explain", "--from", matrix, "--from", first, "--from", second});
  EXPECT_THAT(why.out, AllOf(HasSubstr("rail0.txt and "), HasSubstr("rail1.txt: 2 rails (mlx5_0, "
                                                                    "mlx5_1) on 2 leaf switches, "
                                                                    "and no link joins")));
  // One of them does not say where the other ends.
  EXPECT_THAT(run({"tune", "--from", matrix, "--from", first}).out, Not(HasSubstr("CROSS_NIC")));
}

TEST_F(Files, TwoFabricsThatCannotBeJoinedAreSaid) {
  const std::string conf = file("topology.conf", "SwitchName=s1 Nodes=node[1-4]\n");
  const Ran ran = run({"probe", "--from", file("rail0.txt", rail(0)), "--from", conf});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("second-fabric"), HasSubstr("topology.conf has a fabric too")));
}

TEST_F(Files, TunesJsonHasTheFindingsOfReadingAndJudgingToo) {
  const std::string matrix = file("matrix.txt", kMatrix);
  const std::string other =
      file("other.txt", "mlx5_1 port 1 ==> ib1 (Up)\nmlx5_2 port 1 ==> ib2 (Up)\n");
  const Ran ran = run({"tune", "--format", "json", "--from", matrix, "--from", other});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json tuned = json::parse(ran.out);
  const json probed =
      json::parse(run({"probe", "--format", "json", "--from", matrix, "--from", other}).out);
  const auto& found = tuned["hosts"][0]["findings"];
  EXPECT_THAT(found.dump(), HasSubstr("different-hosts"));
  for (const json& finding : probed["findings"])
    EXPECT_THAT(json::array({found, tuned["findings"]}).dump(), HasSubstr(finding["code"]));
  EXPECT_THAT(ran.err, HasSubstr("different-hosts")) << "and still beside it, for people";
}

TEST(Probe, TheBeginningOfAFlagIsKnownForIt) {
  EXPECT_THAT(run({"tune", "--form", "json"}).err, HasSubstr("did you mean '--format'?"));
  EXPECT_THAT(run({"tune", "--form=json"}).err, HasSubstr("did you mean '--format'?"));
  EXPECT_THAT(run({"probe", "--host", "a"}).err, HasSubstr("did you mean '--hosts'?"));
  EXPECT_THAT(run({"tune", "--frim", "a"}).err, HasSubstr("did you mean '--from'?"));
  EXPECT_THAT(run({"lau"}).err, HasSubstr("did you mean 'launch'?"));
}

TEST(Tune, AnEmptyValueIsNotTheDefault) {
  EXPECT_EQ(run({"probe", "--hosts", ""}).code, 2);
  EXPECT_EQ(run({"probe", "--hostfile", ""}).code, 2);
  EXPECT_EQ(run({"tune", "--nccl", ""}).code, 2);
}

TEST(Probe, AnEndlessFileIsRefusedByName) {
  const Ran ran = run({"probe", "--from", "/dev/zero"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("/dev/zero: larger than 512 MiB"));
}

TEST(LaunchTuning, TheRunFolderHoldsWhatWasSeenAndAdvised) {
  Launched launched({.args = {"launch", "-n", "1", "--verbose", "--", "/bin/true"}});
  ASSERT_EQ(launched.wait(), 0) << launched.err();
  EXPECT_THAT(launched.err(),
              testing::ContainsRegex("lockstep: probe [0-9]+ ms, [0-9]+ NCCL setting"));
  const auto run_folder = launched.folder() / "runs" / "true" / "latest";
  EXPECT_EQ(json::parse(contents(run_folder / "topology.json"))["hosts"][0]["sources"],
            json({"live"}));
  EXPECT_THAT(contents(run_folder / "nccl.env"), HasSubstr("# lockstep tune:"));
}

TEST(LaunchTuning, NoTuneLooksAtNothing) {
  Launched launched({.args = {"launch", "-n", "1", "--no-tune", "--", "/bin/true"}});
  ASSERT_EQ(launched.wait(), 0) << launched.err();
  EXPECT_THAT(launched.err(), Not(HasSubstr("probe")));
  EXPECT_FALSE(
      std::filesystem::exists(launched.folder() / "runs" / "true" / "latest" / "topology.json"));
}

}  // namespace
}  // namespace lockstep::launcher
