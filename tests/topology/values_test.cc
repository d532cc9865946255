// The small values of which a machine's description is made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/cpu_set.h"
#include "topology/device_id.h"
#include "topology/pci_address.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

TEST(PciAddress, IsReadInEveryFormThatToolsPrint) {
  const PciAddress address{0, 0x0f, 0x1e, 3};
  for (const char* text : {"0000:0f:1e.3", "00000000:0F:1E.3", "0f:1e.3"}) {
    EXPECT_EQ(parse_pci_address(text), address) << text;
  }
  EXPECT_EQ(to_string(address), "0000:0f:1e.3");
  EXPECT_EQ(parse_pci_address("10000:00:02.0"), (PciAddress{0x10000, 0, 2, 0}));
  EXPECT_EQ(to_string(PciAddress{0x10000, 0, 2, 0}), "10000:00:02.0");
}

TEST(PciAddress, RefusesWhatIsNone) {
  for (const char* text :
       {"", ".", ":.", "0f:1e", "0000:0f:1e.8", "0000:0f:20.0", "0000:100:00.0", "0000:0f:00.0 ",
        "-1:00.0", "123456789:00:00.0", "0000:0f:00.00", "x:0f:00.0"}) {
    EXPECT_EQ(parse_pci_address(text), std::nullopt) << text;
  }
}

TEST(CpuSet, ListsAndMasksSayTheSame) {
  const auto list = CpuSet::from_list("0-3, 64,66-67");
  const auto mask = CpuSet::from_mask("0000000d,00000000,0000000f");
  ASSERT_TRUE(list && mask);
  EXPECT_EQ(*list, *mask);
  EXPECT_EQ(list->to_list(), "0-3,64,66-67");
  EXPECT_EQ(list->to_mask(4), "00000000,0000000d,00000000,0000000f");
  EXPECT_EQ(list->count(), 7);
  EXPECT_TRUE(list->contains(66));
  EXPECT_FALSE(list->contains(65));
  EXPECT_EQ(CpuSet::from_list("")->to_list(), "");
  EXPECT_EQ(CpuSet::from_mask("ff")->to_list(), "0-7");
}

TEST(CpuSet, RefusesDamage) {
  for (const char* text : {"1-", "-1", "3-1", "a", "1,,2", "99999", "0-99999999999"}) {
    EXPECT_EQ(CpuSet::from_list(text), std::nullopt) << text;
  }
  for (const char* text : {"", "ff,", "123456789", "0x1"})
    EXPECT_EQ(CpuSet::from_mask(text), std::nullopt) << text;
  std::string far = "1";
  for (int i = 0; i < 512; ++i) far += ",0";
  EXPECT_EQ(CpuSet::from_mask(far), std::nullopt);
}

TEST(DeviceId, IsReadAsItIsWritten) {
  for (const char* text : {"GPU0", "NIC11", "SW3", "NVS0", "NUMA1", "NUMA-1"}) {
    const auto id = parse_device_id(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(to_string(*id), text);
  }
  for (const char* text : {"", "GPU", "GPU-1", "gpu0", "GPU0x", "X1"})
    EXPECT_EQ(parse_device_id(text), std::nullopt) << text;
}

TEST(Formats, WhatNoReaderKnowsIsRefusedByName) {
  try {
    (void)read_recording({"notes.txt", "milk, bread\n"});
    FAIL() << "read";
  } catch (const ReadError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("notes.txt: not a recording that can be read"));
  }
}

}  // namespace
}  // namespace lockstep::topology
