// The seeds of the fuzz targets are real inputs: each is read, and goes the whole way.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/fuzz/pipeline.h"
#include "topology/readers/formats.h"

namespace lockstep::topology::test {
namespace {

const std::filesystem::path kSeeds = LOCKSTEP_SOURCE_DIR "/tests/fuzz/seeds";

std::string content(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

TEST(FuzzSeeds, EveryReaderHasSomeAndReadsThem) {
  for (const std::string_view pipeline : pipelines()) {
    ASSERT_TRUE(std::filesystem::is_directory(kSeeds / pipeline)) << pipeline;
    int seeds = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kSeeds / pipeline)) {
      EXPECT_EQ(run_pipeline(pipeline, content(entry.path()), Depth::everything), Outcome::read)
          << entry.path();
      ++seeds;
    }
    EXPECT_GT(seeds, 0) << pipeline;
  }
}

TEST(FuzzSeeds, AreRecognisedAsWhatTheirFolderSays) {
  for (const Format& format : formats()) {
    for (const auto& entry : std::filesystem::directory_iterator(kSeeds / format.name)) {
      const std::string text = content(entry.path());
      for (const Format& other : formats()) {
        if (!other.recognises(text)) continue;
        EXPECT_EQ(other.name, format.name) << entry.path();
        break;
      }
    }
  }
}

TEST(FuzzSeeds, GoTheWholeWayThroughEveryOtherReaderToo) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSeeds)) {
    if (!entry.is_regular_file()) continue;
    for (const std::string_view pipeline : pipelines())
      EXPECT_NO_THROW((void)run_pipeline(pipeline, content(entry.path()), Depth::everything))
          << entry.path() << " as " << pipeline;
  }
}

}  // namespace
}  // namespace lockstep::topology::test
