// Whose an adapter is, by its description.
#include <gtest/gtest.h>

#include "topology/adapter_name.h"

namespace lockstep::topology {
namespace {

struct Case {
  const char* description;
  const char* host;
  const char* device;
};

TEST(AdapterName, HostAndDeviceAreFoundWhereTheDescriptionSaysThem) {
  for (const auto& [description, host, device] : {
           Case{"node07 mlx5_3", "node07", "mlx5_3"},
           Case{"node07 HCA-4", "node07", "HCA-4"},
           Case{"gpu-7.rack2.example mlx5_10", "gpu-7.rack2.example", "mlx5_10"},
           Case{"node07 mlx5_bond_0", "node07", "mlx5_bond_0"},
           Case{"node07 ibp24s0", "node07", "ibp24s0"},
           Case{"node07  HCA-1 (firmware 20.1)", "node07", "HCA-1"},
           Case{"node07", "node07", ""},
           Case{"localhost HCA-3", "", "HCA-3"},
           Case{"HCA-2", "", "HCA-2"},
           Case{"MT4129 ConnectX7   Mellanox Technologies", "", ""},
           Case{"MT4129", "", ""},
           Case{"Voltaire HCA400", "", ""},
           Case{"Mellanox Technologies Aggregation Node", "", ""},
           Case{"\"quoted\" mlx5_0", "", "mlx5_0"},
           Case{"", "", ""},
       }) {
    const AdapterName name = parse_adapter_name(description);
    EXPECT_EQ(name.host, host) << description;
    EXPECT_EQ(name.device, device) << description;
  }
}

TEST(AdapterName, HcasAreCountedFromOne) {
  EXPECT_EQ(same_device_name("HCA-4"), "mlx5_3");
  EXPECT_EQ(same_device_name("mlx5_3"), "mlx5_3");
  EXPECT_EQ(same_device_name("HCA-0"), "HCA-0");
  EXPECT_EQ(same_device_name("HCA-99999999999"), "HCA-99999999999");
}

}  // namespace
}  // namespace lockstep::topology
