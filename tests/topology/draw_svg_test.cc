
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/topology/drawn_machines.h"
#include "tests/topology/machines.h"
#include "tests/topology/picture_checks.h"
#include "topology/draw/layout.h"
#include "topology/draw/svg.h"
#include "topology/draw/svg_writer.h"
#include "topology/findings/rules.h"

namespace lockstep::topology {
namespace {

using testing::IsEmpty;

Machine with_findings(Machine machine) {
  machine.findings = {
      {Severity::error, "lost-nvlink", "17 of 18 NVLinks are up.", "GPU1", "Reset it."},
      {Severity::warning, "pcie-width", "x8 of x16.", "NIC0 under SW0: lspci", "Reseat it."},
      {Severity::info, "told", "Read from recordings.", "GPU0", ""}};
  return machine;
}

// Machines by name, so that a failure says which.
std::map<std::string, Machine> machines() {
  Machine unplaced = test::workstation();
  unplaced.links.clear();
  for (Gpu& gpu : unplaced.gpus) gpu.numa.reset();
  Machine ring = test::pair();
  ring.switches.resize(3);
  for (int i = 0; i < 3; ++i)
    ring.links.push_back({.from = {DeviceKind::pcie_switch, i},
                          .to = {DeviceKind::pcie_switch, (i + 1) % 3},
                          .kind = LinkKind::pcie,
                          .count = 1,
                          .GBps = std::nullopt});
  return {{"hgx", test::hgx_h100()},
          {"hgx with findings", with_findings(test::hgx_h100())},
          {"workstation", test::workstation()},
          {"dgx2", with_findings(test::dgx2())},
          {"virtual", test::virtual_h100()},
          {"matrix", with_findings(test::matrix_only())},
          {"cube", test::cube()},
          {"pair", test::pair()},
          {"grace", test::grace()},
          {"storage", test::storage()},
          {"unplaced", unplaced},
          {"ring", ring},
          {"empty", Machine{}}};
}

Picture picture_of(const Machine& machine) {
  return lay_out(machine, paths_of(machine));
}

std::set<DeviceId> devices_of(const Machine& machine) {
  std::set<DeviceId> ids;
  const auto add = [&ids](DeviceKind kind, std::size_t count) {
    for (int i = 0; i < static_cast<int>(count); ++i) ids.insert({kind, i});
  };
  add(DeviceKind::gpu, machine.gpus.size());
  add(DeviceKind::nic, machine.nics.size());
  add(DeviceKind::pcie_switch, machine.switches.size());
  add(DeviceKind::nvswitch, machine.nvswitches.size());
  for (const NumaNode& node : machine.numa) {
    if (!node.cpus.empty()) ids.insert({DeviceKind::numa, node.id});  // else of memory only
  }
  return ids;
}

const Box& box_of(const Picture& picture, DeviceId id) {
  for (const Box& box : picture.boxes) {
    if (box.device == id) return box;
  }
  throw std::runtime_error("no box of " + to_string(id));
}

std::string svg_of(const Machine& machine) {
  return draw_svg(machine, paths_of(machine));
}

TEST(DrawSvg, IsWellFormed) {
  for (const auto& [name, machine] : machines()) {
    pugi::xml_document document;
    const std::string svg = svg_of(machine);
    const auto result = document.load_string(svg.c_str());
    EXPECT_TRUE(result) << name << ": " << result.description();
    EXPECT_STREQ(document.document_element().name(), "svg") << name;
    EXPECT_EQ(svg.find("<script"), std::string::npos) << name;
  }
}

TEST(DrawSvg, EveryDeviceAppearsExactlyOnce) {
  for (const auto& [name, machine] : machines()) {
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(svg_of(machine).c_str())) << name;
    std::multiset<std::string> drawn;
    for (const pugi::xml_node rect : document.document_element().children("rect")) {
      if (const auto id = rect.attribute("id")) drawn.insert(id.value());
    }
    std::multiset<std::string> expected;
    for (const DeviceId id : devices_of(machine)) expected.insert(to_string(id));
    EXPECT_EQ(drawn, expected) << name;
  }
}

TEST(DrawSvg, NoTwoWordsOverlap) {
  for (const auto& [name, machine] : machines())
    EXPECT_THAT(test::overlapping_words(picture_of(machine)), IsEmpty()) << name;
}

TEST(DrawSvg, NoTwoDevicesOverlap) {
  for (const auto& [name, machine] : machines())
    EXPECT_THAT(test::overlapping_devices(picture_of(machine)), IsEmpty()) << name;
}

TEST(DrawSvg, EverythingLiesInsideThePicture) {
  for (const auto& [name, machine] : machines()) {
    const Picture picture = picture_of(machine);
    const auto inside = [&picture](const Rect& rect) {
      return rect.x >= 0 && rect.y >= 0 && rect.right() <= picture.width &&
             rect.bottom() <= picture.height;
    };
    for (const Box& box : picture.boxes) EXPECT_TRUE(inside(box.rect)) << name << ": " << box.title;
    for (const Word& word : picture.words)
      EXPECT_TRUE(inside(word.box)) << name << ": " << word.text;
    for (const Wire& wire : picture.wires) {
      for (const Point& point : wire.points) EXPECT_TRUE(inside({point.x, point.y, 0, 0})) << name;
    }
  }
}

TEST(DrawSvg, WiresOfPcieCrossNoOtherDevice) {
  for (const auto& [name, machine] : machines()) {
    const Picture picture = picture_of(machine);
    for (const Wire& wire : picture.wires) {
      for (std::size_t i = 1; i < wire.points.size(); ++i) {
        const Point a = wire.points[i - 1];
        const Point b = wire.points[i];
        const Rect run{std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x) + 1,
                       std::abs(a.y - b.y) + 1};
        for (const Box& box : picture.boxes) {
          const Rect core{box.rect.x + 2, box.rect.y + 2, box.rect.w - 4, box.rect.h - 4};
          if (box.device && wire.kind == LinkKind::pcie) {
            EXPECT_FALSE(test::overlap(run, core)) << name << ": " << to_string(*box.device);
          }
        }
      }
    }
  }
}

TEST(DrawSvg, DevicesOfAKindStandInOneRow) {
  for (const Machine& machine : {test::hgx_h100(), test::dgx2(), test::virtual_h100()}) {
    const Picture picture = picture_of(machine);
    for (int i = 0; i < static_cast<int>(machine.gpus.size()); ++i)
      EXPECT_EQ(box_of(picture, {DeviceKind::gpu, i}).rect.y,
                box_of(picture, {DeviceKind::gpu, 0}).rect.y);
  }
}

TEST(DrawSvg, SixteenGpusFitSixteenHundredPixels) {
  EXPECT_LE(picture_of(test::dgx2()).width, 1600);
  EXPECT_LE(picture_of(test::hgx_h100()).width, 1600);
}

TEST(DrawSvg, FindingsMarkTheDevicesTheyName) {
  const Picture picture = picture_of(with_findings(test::hgx_h100()));
  std::set<std::string> red;
  for (const Box& box : picture.boxes) {
    if (box.alarm && box.device) red.insert(to_string(*box.device));
  }
  EXPECT_EQ(red, (std::set<std::string>{"GPU1", "NIC0", "SW0"}));
}

TEST(DrawSvg, AFindingOfSeveralSwitchesMarksThemAll) {
  Machine machine = test::hgx_h100();
  for (const std::size_t i : {2, 5}) machine.switches[i].pci.link.max_speed = 5;
  machine.findings = findings::switch_uplinks(machine);
  ASSERT_EQ(machine.findings.size(), 1U);
  const Picture picture = picture_of(machine);
  std::set<std::string> red;
  for (const Box& box : picture.boxes) {
    if (box.alarm && box.device) red.insert(to_string(*box.device));
  }
  EXPECT_EQ(red, (std::set<std::string>{"SW2", "SW5"}));
}

TEST(DrawSvg, FindingsAreListedBelowEverything) {
  const Picture picture = picture_of(with_findings(test::hgx_h100()));
  double lowest_device = 0;
  for (const Box& box : picture.boxes) {
    if (box.device) lowest_device = std::max(lowest_device, box.rect.bottom());
  }
  int listed = 0;
  for (const Word& word : picture.words) {
    if (word.text.find("[lost-nvlink]") == std::string::npos) continue;
    ++listed;
    EXPECT_GT(word.box.y, lowest_device);
    EXPECT_EQ(word.ink, Ink::alarm);
  }
  EXPECT_EQ(listed, 1);
}

TEST(DrawSvg, NamesTheDeviceByAddressOrInterfaceToo) {
  Machine machine = test::hgx_h100();
  machine.findings = {{Severity::warning, "a", "m", "0000:12:00.0", ""},
                      {Severity::warning, "b", "m", "bond0: ip", ""},
                      {Severity::warning, "c", "m", "GPU99, GPU10, mlx5_77", ""}};
  const Picture picture = picture_of(machine);
  EXPECT_TRUE(box_of(picture, {DeviceKind::gpu, 0}).alarm);
  EXPECT_TRUE(box_of(picture, {DeviceKind::nic, 8}).alarm);
  EXPECT_FALSE(box_of(picture, {DeviceKind::gpu, 1}).alarm);
}

TEST(DrawSvg, SaysWhatLinksCarry) {
  const std::string svg = svg_of(test::hgx_h100());
  EXPECT_NE(svg.find(">NV18<"), std::string::npos);
  EXPECT_NE(svg.find("Gen5 x16"), std::string::npos);
  EXPECT_NE(svg.find("GB/s"), std::string::npos);
  EXPECT_NE(svg_of(test::pair()).find("NV4, "), std::string::npos);
}

TEST(DrawSvg, AVirtualSwitchThatSaysNothingClaimsNoSpeed) {
  Machine machine = test::virtual_h100();
  machine.gpus.clear();
  machine.nics.clear();
  machine.nvswitches.clear();
  machine.cpu = {};
  std::erase_if(machine.links, [](const Link& link) {
    return link.from.kind != DeviceKind::pcie_switch && link.from.kind != DeviceKind::numa;
  });
  EXPECT_EQ(svg_of(machine).find("GB/s"), std::string::npos);
}

TEST(DrawSvg, NodesOfMemoryOnlyAreNamedAndLinksToTheProcessorDrawn) {
  const std::string svg = svg_of(test::grace());
  EXPECT_NE(svg.find("not drawn: 4 NUMA nodes of memory only (NUMA2, NUMA3, NUMA4, NUMA5)"),
            std::string::npos);
  const Picture picture = picture_of(test::grace());
  EXPECT_EQ(std::ranges::count(picture.wires, LinkKind::c2c, &Wire::kind), 4 + 1);  // and legend
  EXPECT_NE(svg.find("C2C 370 GB/s"), std::string::npos);
}

TEST(DrawSvg, AMatrixShowsEveryPairWhereThereAreNoLinks) {
  const Picture picture = picture_of(test::matrix_only());
  int near = 0;
  int cells = 0;
  for (const Box& box : picture.boxes) {
    if (box.kind != BoxKind::cell) continue;
    ++cells;
    near += box.path == PathKind::NVL ? 1 : 0;
  }
  EXPECT_EQ(cells, 20 * 20);
  EXPECT_EQ(near, 8 * 7);
}

TEST(DrawSvg, HostileNamesAreEscapedAndCut) {
  Machine machine = with_findings(test::pair());
  const std::string hostile = "<script>alert(\"&')</script>" +
                              std::string("\x01\x07\x1b[31m\0\xff\xfe\xed\xa0\x80", 13) +
                              std::string(100000, 'W');
  machine.name = hostile;
  machine.cpu.model = hostile;
  for (Gpu& gpu : machine.gpus) gpu.name = hostile;
  Nic nic;
  nic.name = hostile;
  nic.netdev = hostile;
  nic.numa = 0;
  machine.nics.assign(3, nic);
  machine.findings.push_back({Severity::error, hostile, hostile, hostile, hostile});
  machine.stated.push_back({{DeviceKind::gpu, 0}, {DeviceKind::nic, 0}, hostile});
  const std::string svg = svg_of(machine);
  EXPECT_LT(svg.size(), 100000U);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(svg.c_str()));
  for (const char c : svg) {
    if (static_cast<unsigned char>(c) < 0x20) {
      ASSERT_EQ(c, '\n');
    }
  }
  const Picture picture = picture_of(machine);
  for (const Word& word : picture.words) EXPECT_LE(word.box.right(), picture.width) << word.text;
}

TEST(DrawSvg, WhatIsNotUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(xml_text("a\xff"
                     "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(xml_text("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(xml_text("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(xml_text("\xc3"), "\xef\xbf\xbd");
  EXPECT_EQ(xml_text("\xef\xbf\xbe"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(xml_text("<&>\"\n"), "&lt;&amp;&gt;&quot; ");
}

TEST(DrawSvg, AChainOfManySwitchesIsDrawnWithoutDeepRecursion) {
  Machine machine = test::pair();
  machine.switches.resize(5000);
  for (int i = 0; i < 5000; ++i)
    machine.links.push_back(
        {.from = {DeviceKind::pcie_switch, i},
         .to = i == 0 ? DeviceId{DeviceKind::numa, 0} : DeviceId{DeviceKind::pcie_switch, i - 1},
         .kind = LinkKind::pcie,
         .count = 1,
         .GBps = std::nullopt});
  std::set<DeviceId> drawn;
  for (const Box& box : picture_of(machine).boxes) {
    if (box.device) {
      EXPECT_TRUE(drawn.insert(*box.device).second);
    }
  }
  EXPECT_EQ(drawn.size(), 5000U + 2 + 1);
}

}  // namespace
}  // namespace lockstep::topology
