// The IDX reader: whole files, damaged files, and the real ones where they are installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/data/source.h"
#include "tests/runtime/data_files.h"

namespace lockstep::runtime::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Bytes idx(std::initializer_list<std::uint32_t> extents, const Bytes& elements,
          std::uint8_t type = 8) {
  Bytes file = {0, 0, type, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8)
      file.push_back(static_cast<std::uint8_t>(extent >> shift));
  }
  file.insert(file.end(), elements.begin(), elements.end());
  return file;
}

const Bytes kTwelve = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

class IdxFiles : public DataFiles {
 protected:
  IdxFiles() {
    write("images", idx({3, 2, 2}, kTwelve));
    write("labels", idx({3}, {0, 9, 5}));
  }

  std::unique_ptr<Source> open(std::int64_t classes = 10) const {
    return open_idx(folder_ / "images", folder_ / "labels", classes);
  }
  std::string refusal(std::int64_t classes = 10) const {
    return refusal_of([&] { static_cast<void>(open(classes)); });
  }
  std::string refusal_of_images(const Bytes& bytes) const {
    write("images", bytes);
    return refusal();
  }
  void expect_the_three_images() const {
    const auto source = open();
    ASSERT_EQ(source->size(), 3U);
    EXPECT_EQ(source->shape().image, (ImageShape{2, 2, 1}));
    EXPECT_EQ(source->classes(), 10);
    Sample sample;
    source->read({1}, sample);
    EXPECT_THAT(sample.pixels, ElementsAre(5, 6, 7, 8));
    EXPECT_EQ(sample.label, 9);
    source->read({2}, sample);
    EXPECT_THAT(sample.pixels, ElementsAre(9, 10, 11, 12));
    EXPECT_EQ(sample.label, 5);
  }
};

TEST_F(IdxFiles, PlainFilesAreRead) {
  expect_the_three_images();
}

TEST_F(IdxFiles, GzipIsToldByContentNotByName) {
  write("images", gzip(idx({3, 2, 2}, kTwelve)));
  expect_the_three_images();
}

TEST_F(IdxFiles, JoinedGzipMembersAreRead) {
  const Bytes whole = idx({3, 2, 2}, kTwelve);
  Bytes joined = gzip({whole.begin(), whole.begin() + 20});
  const Bytes second = gzip({whole.begin() + 20, whole.end()});
  joined.insert(joined.end(), second.begin(), second.end());
  write("images", joined);
  expect_the_three_images();
}

TEST_F(IdxFiles, ColourImagesHaveAFourthDimension) {
  write("images", idx({3, 1, 2, 2}, kTwelve));
  const auto source = open();
  EXPECT_EQ(source->shape().image, (ImageShape{1, 2, 2}));
}

TEST_F(IdxFiles, MissingFileIsNamed) {
  std::filesystem::remove(folder_ / "labels");
  EXPECT_EQ(refusal(), "labels: no such file");
  std::filesystem::create_directory(folder_ / "labels");
  EXPECT_EQ(refusal(), "labels: expected a file, found a folder");
}

TEST_F(IdxFiles, EmptyFileIsNamed) {
  EXPECT_EQ(refusal_of_images({}), "images: the file is empty");
}

TEST_F(IdxFiles, TruncatedFileSaysWhereItEnds) {
  Bytes bytes = idx({3, 2, 2}, kTwelve);
  bytes.resize(2);
  EXPECT_EQ(
      refusal_of_images(bytes),
      "images: byte 2: the file is cut off: expected 4 bytes of IDX header from byte 0, found 2");
  bytes = idx({3, 2, 2}, kTwelve);
  bytes.pop_back();
  EXPECT_EQ(
      refusal_of_images(bytes),
      "images: byte 27: the file is cut off: expected 12 bytes of images from byte 16, found 11");
  bytes.resize(14);
  EXPECT_THAT(refusal_of_images(bytes), StartsWith("images: byte 14: the file is cut off"));
}

TEST_F(IdxFiles, TrailingBytesAreAnError) {
  Bytes bytes = idx({3, 2, 2}, kTwelve);
  bytes.push_back(0);
  EXPECT_EQ(refusal_of_images(bytes),
            "images: byte 28: expected the end of the data after 3 images, found more bytes");
  EXPECT_EQ(
      refusal_of_images(gzip(bytes)),
      "images: byte 28 of the unpacked data: expected the end of the data after 3 images, found "
      "more bytes");
  Bytes packed = gzip(idx({3, 2, 2}, kTwelve));
  const std::size_t size = packed.size();
  packed.push_back('x');
  EXPECT_EQ(refusal_of_images(packed), "images: byte " + std::to_string(size) +
                                           ": expected the end of the file, found 1 bytes more");
}

TEST_F(IdxFiles, OtherFilesAreToldByTheirFirstBytes) {
  EXPECT_EQ(refusal_of_images({0x89, 'P', 'N', 'G', 1, 2, 3, 4}),
            "images: byte 0: not an IDX file: expected 00 00, found 89 50");
  EXPECT_EQ(refusal_of_images(idx({3, 1, 1}, kTwelve, 0x0D)),
            "images: byte 2: expected images of type 08 (unsigned byte), found type 0d (float)");
  EXPECT_EQ(
      refusal_of_images(idx({3, 1, 1}, kTwelve, 0x42)),
      "images: byte 2: expected images of type 08 (unsigned byte), found type 42 (no type of IDX)");
  EXPECT_EQ(
      refusal_of_images(idx({12}, kTwelve)),
      "images: byte 3: expected 3 or 4 dimensions (images, rows, columns, channels), found 1; are "
      "images and labels exchanged?");
}

TEST_F(IdxFiles, DimensionsThatTheFileCannotHoldAreRefusedBeforeMemoryIsTaken) {
  constexpr std::uint32_t kHuge = 0xffffffff;
  EXPECT_THAT(refusal_of_images(idx({kHuge, kHuge, kHuge, kHuge}, kTwelve)),
              HasSubstr("images: byte 4: the header promises more images than the file holds"));
  EXPECT_THAT(refusal_of_images(gzip(idx({kHuge, kHuge, 2}, kTwelve))),
              HasSubstr("the header promises more images than the file holds"));
  EXPECT_EQ(refusal_of_images(idx({3, 0, 2}, {})),
            "images: byte 8: expected a dimension of at least 1, found 0");
}

TEST_F(IdxFiles, CountsOfImagesAndLabelsMustAgree) {
  write("labels", idx({2}, {0, 9}));
  EXPECT_EQ(refusal(), "labels: byte 4: expected 3 labels, one an image of images, found 2");
}

TEST_F(IdxFiles, LabelOutOfRangeNamesTheRecord) {
  EXPECT_EQ(refusal(6),
            "labels: byte 9: record 1: expected a label of 0 to 5 (model.classes is 6), found 9");
}

TEST_F(IdxFiles, DamagedGzipIsNamedWithItsPlace) {
  const Bytes packed = gzip(idx({3, 2, 2}, kTwelve));
  Bytes cut(packed.begin(), packed.end() - 9);
  EXPECT_EQ(refusal_of_images(cut), "images: byte " + std::to_string(cut.size()) +
                                        ": expected more gzip data, but the file ends here");
  Bytes wrong_sum = packed;
  wrong_sum[packed.size() - 6] ^= 1;  // in the CRC of the trailer
  EXPECT_THAT(refusal_of_images(wrong_sum),
              HasSubstr("damaged gzip data (inflate: incorrect data check)"));
  Bytes wrong_method = packed;
  wrong_method[2] = 7;
  EXPECT_THAT(refusal_of_images(wrong_method),
              HasSubstr("damaged gzip data (inflate: unknown compression method)"));
  Bytes only_magic = {0x1f, 0x8b};
  EXPECT_THAT(refusal_of_images(only_magic), HasSubstr("byte 2: expected more gzip data"));
}

// Whatever happens to a packed or plain file's bytes, it is read or refused with a DataError.
TEST_F(IdxFiles, DamagedFilesAreReadOrRefused) {
  std::mt19937 random(11);
  const std::array<Bytes, 2> wholes = {idx({3, 2, 2}, kTwelve), gzip(idx({3, 2, 2}, kTwelve))};
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    Bytes bytes = wholes.at(static_cast<std::size_t>(round % 2));
    const std::size_t at = random() % bytes.size();
    if (round % 3 == 0)
      bytes.resize(at);
    else
      bytes[at] ^= static_cast<std::uint8_t>(1U << random() % 8);
    write("images", bytes);
    try {
      static_cast<void>(open());
    } catch (const DataError& error) {
      ++refused;
      EXPECT_THAT(error.what(), StartsWith(folder_.string()));
    }
  }
  EXPECT_GT(refused, 100);
}

struct Known {
  std::filesystem::path folder;
  std::string prefix;
  std::size_t size;
  double mean;              // of pixel / 255
  std::vector<int> labels;  // the first ten
};

void expect_known(const Known& known) {
  const auto images = known.folder / (known.prefix + "-images-idx3-ubyte.gz");
  const auto labels = known.folder / (known.prefix + "-labels-idx1-ubyte.gz");
  if (!std::filesystem::exists(images)) GTEST_SKIP() << "SKIPPED: " << images << " is not here";
  const auto source = open_idx(images, labels, 10);
  EXPECT_EQ(source->size(), known.size);
  EXPECT_EQ(source->shape().image, (ImageShape{28, 28, 1}));
  Sample sample;
  std::uint64_t sum = 0;
  std::vector<int> first;
  for (std::size_t i = 0; i < source->size(); ++i) {
    source->read({i}, sample);
    for (const std::uint8_t pixel : sample.pixels) sum += pixel;
    if (i < 10) first.push_back(sample.label);
  }
  const double values = static_cast<double>(source->size()) * 28 * 28;
  EXPECT_NEAR(static_cast<double>(sum) / values / 255, known.mean, 1e-6);
  EXPECT_EQ(first, known.labels);
}

const std::filesystem::path kFashion = "/usr/share/datasets/fashion-mnist";

TEST(RealIdx, MnistTestSet) {
  expect_known({std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "../shared/corpus/data/mnist_idx",
                "t10k",
                10000,
                0.132515,
                {7, 2, 1, 0, 4, 1, 4, 9, 5, 9}});
}

TEST(RealIdx, FashionMnistTrainingSet) {
  expect_known({kFashion, "train", 60000, 0.286040597, {9, 0, 0, 3, 0, 2, 7, 2, 5, 5}});
}

TEST(RealIdx, FashionMnistTestSet) {
  expect_known({kFashion, "t10k", 10000, 0.286849281, {9, 2, 1, 1, 6, 1, 4, 6, 5, 7}});
}

}  // namespace
}  // namespace lockstep::runtime::data
