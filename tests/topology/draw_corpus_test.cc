#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <pugixml.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/topology/corpus.h"
#include "tests/topology/picture_checks.h"
#include "topology/draw/layout.h"
#include "topology/draw/svg.h"
#include "topology/readers/nccl_xml.h"

namespace lockstep::topology {
namespace {

using testing::IsEmpty;

std::vector<std::string> recordings() {
  std::vector<std::string> names;
  std::error_code absent;
  for (const auto& file :
       std::filesystem::directory_iterator(test::corpus_folder() / "nccl-xml", absent)) {
    if (file.path().extension() == ".xml")
      names.push_back("nccl-xml/" + file.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST(DrawCorpus, EveryRecordingOfNcclIsDrawnWithoutOverlaps) {
  const std::vector<std::string> names = recordings();
  if (names.empty()) GTEST_SKIP() << "SKIPPED: no recordings at " << test::corpus_folder();
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const Machine machine = read_nccl_xml(*test::corpus(name)).machine;
    const PathTable paths = paths_of(machine);
    const Picture picture = lay_out(machine, paths);
    EXPECT_THAT(test::overlapping_words(picture), IsEmpty());
    EXPECT_THAT(test::overlapping_devices(picture), IsEmpty());
    std::multiset<DeviceId> gpus;
    std::multiset<DeviceId> nics;
    for (const Box& box : picture.boxes) {
      if (box.device && box.device->kind == DeviceKind::gpu) gpus.insert(*box.device);
      if (box.device && box.device->kind == DeviceKind::nic) nics.insert(*box.device);
    }
    EXPECT_EQ(gpus.size(), machine.gpus.size());
    EXPECT_EQ(nics.size(), machine.nics.size());
    EXPECT_TRUE(pugi::xml_document().load_string(draw_svg(machine, paths).c_str()));
  }
}

}  // namespace
}  // namespace lockstep::topology
