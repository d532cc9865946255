// Which source of hosts applies, with real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/host_file.h"
#include "tests/launcher/hosts/readable_hosts.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class FindHosts : public testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view text) const {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path;
  }

  Allocation find(const HostRequest& request = {}) const {
    return find_hosts(request, environment_, read_host_file);
  }

  std::string refused(const HostRequest& request = {}) const {
    return refusal([&] { (void)find(request); });
  }

  void in_slurm() {
    environment_["SLURM_JOB_ID"] = "12";
    environment_["SLURM_JOB_NODELIST"] = "h[1-2]";
  }

  const TemporaryFolder folder_;
  Environment environment_;
};

TEST_F(FindHosts, FlagsWinOverABatchSystem) {
  in_slurm();
  HostRequest request;
  request.hosts = "a:8,b:8";
  const Allocation flag = find(request);
  EXPECT_EQ(flag.source, "--hosts");
  EXPECT_EQ(shown(flag.hosts), "a:8 b:8");
  EXPECT_EQ(flag.start, Allocation::Start::kSsh);
  EXPECT_THAT(flag.notes, IsEmpty());

  request.hosts.reset();
  request.hostfile = file("hosts", "c slots=2\n");
  const Allocation listed = find(request);
  EXPECT_EQ(listed.source, "hostfile " + *request.hostfile);
  EXPECT_EQ(shown(listed.hosts), "c:2");
  EXPECT_EQ(listed.hosts[0].where, *request.hostfile + ":1:1");
}

TEST_F(FindHosts, OfTwoBatchSystemsTheFirstWinsAndTheOtherIsNamed) {
  environment_["PE_HOSTFILE"] = file("pe", "s1 2 q -\n");
  environment_["PBS_NODEFILE"] = file("pbs", "p1\np1\n");
  const Allocation pbs = find();
  EXPECT_EQ(pbs.source, "PBS");
  EXPECT_THAT(pbs.notes,
              ElementsAre(StartsWith("hosts are those of PBS; SGE's PE_HOSTFILE is set")));
  in_slurm();
  const Allocation slurm = find();
  EXPECT_EQ(slurm.source, "Slurm job 12");
  EXPECT_THAT(slurm.notes, ElementsAre(StartsWith("hosts are those of Slurm job 12; PBS's"),
                                       StartsWith("hosts are those of Slurm job 12; SGE's")));
}

TEST_F(FindHosts, LsfPrefersItsFileWhichIsNotCut) {
  environment_["LSB_JOBID"] = "5";
  environment_["LSB_MCPU_HOSTS"] = "h1 2";
  EXPECT_EQ(shown(find().hosts), "h1:2");
  environment_["LSB_DJOB_HOSTFILE"] = file("lsf", "h1\nh1\nh2\n");
  EXPECT_EQ(shown(find().hosts), "h1:2 h2:1");
  EXPECT_THAT(find().notes, IsEmpty());
}

TEST_F(FindHosts, WithoutAnySourceItIsThisMachine) {
  HostRequest request;
  request.this_host = "laptop";
  environment_["PBS_NODEFILE"] = "";
  const Allocation here = find(request);
  EXPECT_EQ(here.source, "this machine");
  EXPECT_EQ(shown(here.hosts), "laptop");
  EXPECT_EQ(here.start, Allocation::Start::kLocal);
}

TEST_F(FindHosts, FiltersApplyToEverySource) {
  in_slurm();
  HostRequest request;
  request.include = "h2:5";
  const Allocation found = find(request);
  EXPECT_EQ(shown(found.hosts), "h2");
  EXPECT_THAT(found.hosts[0].devices.indices, ElementsAre(5));
  request.include.reset();
  request.exclude = "h3";
  EXPECT_EQ(refused(request),
            "--exclude, character 1: host 'h3' is not among the hosts of Slurm job 12");
}

TEST_F(FindHosts, FlagsThatDoNotGoTogetherAreRefused) {
  HostRequest request;
  request.hosts = "a";
  request.hostfile = "b";
  EXPECT_EQ(refused(request), "--hosts and --hostfile do not go together: give one of them");
  request.hostfile.reset();
  request.include = request.exclude = "a";
  EXPECT_EQ(refused(request), "--include and --exclude do not go together: give one of them");
  request.exclude.reset();
  request.format = HostfileFormat::kHydra;
  EXPECT_THAT(refused(request), StartsWith("--hostfile-format says how --hostfile is read"));
}

TEST_F(FindHosts, AFileThatCannotBeReadIsNamedWithWhoSaidSo) {
  HostRequest request;
  request.hostfile = folder_.path() / "none";
  EXPECT_EQ(refused(request),
            "--hostfile " + *request.hostfile + ": cannot be opened: No such file or directory");
  request.hostfile = "";
  EXPECT_THAT(refused(request), StartsWith("--hostfile: expected the path of a file"));
  environment_["PBS_NODEFILE"] = folder_.path();
  EXPECT_EQ(refused(), "PBS_NODEFILE=" + folder_.path().string() +
                           ": expected a file that names hosts, found a folder");
}

}  // namespace
}  // namespace lockstep::launcher
