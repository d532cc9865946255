// The parts of the step between hosts that are pure, and two hosts' connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "collectives/ucx/peer.h"
#include "collectives/ucx/settings.h"
#include "collectives/ucx/tree.h"
#include "collectives/ucx/worker.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::collectives::ucx {
namespace {

using std::chrono::milliseconds;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

bool nothing_is_set(const std::string&) {
  return false;
}

TEST(UcxTree, IsTheBinaryHeapFromTheRootOn) {
  EXPECT_THAT(tree_place(0, 6, 0).children, ElementsAre(1, 2));
  EXPECT_THAT(tree_place(1, 6, 0).children, ElementsAre(3, 4));
  EXPECT_THAT(tree_place(2, 6, 0).children, ElementsAre(5));
  EXPECT_EQ(tree_place(0, 6, 0).parent, std::nullopt);
  EXPECT_EQ(tree_place(5, 6, 0).parent, 2);
  EXPECT_THAT(tree_place(4, 6, 4).children, ElementsAre(5, 0));
  EXPECT_EQ(tree_place(0, 6, 4).parent, 4);
}

TEST(UcxTree, EveryHostIsTheChildOfItsParentAndOfNoOther) {
  for (const int hosts : {1, 2, 3, 7, 8, 1000}) {
    for (const int root : {0, hosts / 2, hosts - 1}) {
      std::set<int> reached = {root};
      for (int host = 0; host < hosts; ++host) {
        for (const int child : tree_place(host, hosts, root).children) {
          EXPECT_EQ(tree_place(child, hosts, root).parent, host);
          EXPECT_TRUE(reached.insert(child).second);
        }
      }
      EXPECT_EQ(reached.size(), static_cast<std::size_t>(hosts));
    }
  }
}

TEST(UcxTree, WhoIsNearerToALateHostIsLessPatient) {
  // Host 3 is late: 1 waits for it, 0 for 1, and 2 for the sum from 0.
  EXPECT_THAT(tree_place(1, 4, 0).patience_with_children, ElementsAre(milliseconds(0)));
  EXPECT_THAT(tree_place(0, 4, 0).patience_with_children,
              ElementsAre(milliseconds(500), milliseconds(0)));
  EXPECT_GT(tree_place(2, 4, 0).patience_with_parent, milliseconds(500));
}

TEST(UcxSettings, KeepToTcpAndTheInterface) {
  const launcher::TemporaryFolder sys;
  EXPECT_THAT(settings_for("eth0", sys.path(), nothing_is_set),
              ElementsAre(Setting{"TLS", "tcp"}, Setting{"NET_DEVICES", "eth0"}));
  EXPECT_THAT(settings_for("", sys.path(), nothing_is_set), ElementsAre(Setting{"TLS", "tcp"}));
}

TEST(UcxSettings, UseTheRdmaDeviceOfTheInterface) {
  const launcher::TemporaryFolder sys;
  const std::filesystem::path interface = sys.path() / "class/net/ib1";
  std::filesystem::create_directories(interface / "device/infiniband/mlx5_0");
  std::ofstream(interface / "dev_port") << "1\n";
  EXPECT_THAT(settings_for("ib1", sys.path(), nothing_is_set),
              ElementsAre(Setting{"TLS", "tcp,rc"}, Setting{"NET_DEVICES", "ib1,mlx5_0:2"}));
}

TEST(UcxSettings, LeaveAloneWhatTheUserHasSet) {
  const launcher::TemporaryFolder sys;
  const auto all = [](const std::string& name) { return name.starts_with("UCX_"); };
  EXPECT_THAT(settings_for("eth0", sys.path(), all), IsEmpty());
  const auto devices = [](const std::string& name) { return name == "UCX_NET_DEVICES"; };
  EXPECT_THAT(settings_for("eth0", sys.path(), devices),
              Not(Contains(testing::Field(&Setting::name, "NET_DEVICES"))));
}

TEST(UcxConnection, ConsistsOfTcpOverTheInterfaceAndNeverOfSharedMemory) {
  const launcher::TemporaryFolder sys;
  const auto settings = settings_for("lo", sys.path(), nothing_is_set);
  Worker one(settings);
  Worker other(settings);
  Peer to_other(one, other.address(), "rank 1 (node1)");
  Peer to_one(other, one.address(), "rank 0 (node0)");
  const std::array<std::byte, 3> sent{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> received{};
  const Request arriving = other.receive(7, received);
  const Request going = to_other.send(7, sent);
  while (arriving.status() == UCS_INPROGRESS || going.status() == UCS_INPROGRESS) {
    one.progress();
    other.progress();
  }
  EXPECT_EQ(received, sent);
  EXPECT_THAT(to_other.connection(), HasSubstr("tcp/lo"));
  EXPECT_THAT(to_other.connection(),
              Not(AnyOf(HasSubstr("sysv"), HasSubstr("posix"), HasSubstr("cma"))));
}

}  // namespace
}  // namespace lockstep::collectives::ucx
