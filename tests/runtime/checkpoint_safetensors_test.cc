#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "runtime/checkpoint/crc32c.h"
#include "runtime/checkpoint/safetensors.h"
#include "tests/runtime/checkpoint_fixtures.h"

namespace lockstep::runtime::checkpoint {
namespace {

using fixtures::TemporaryFolder;
using testing::HasSubstr;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A file of this header, and that many bytes of tensors.
std::vector<std::byte> file_of(std::string_view header, std::size_t bytes) {
  std::vector<std::byte> file(sizeof(std::uint64_t));
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, sizeof length);
  const auto text = bytes_of(header);
  file.insert(file.end(), text.begin(), text.end());
  file.resize(file.size() + bytes);
  return file;
}

std::string refusal(std::span<const std::byte> file) {
  try {
    (void)parse_safetensors(file, "x.safetensors");
  } catch (const SafetensorsError& error) {
    return error.what();
  }
  return "it was accepted";
}

std::vector<std::byte> written(std::span<const TensorView> tensors,
                               const TensorMetadata& metadata) {
  const TemporaryFolder folder;
  PosixFileSystem files;
  write_safetensors(*files.create_file(folder.path() / "file"), tensors, metadata);
  return read_file(files, folder.path() / "file");
}

// As Python prints them: 6 values from -3 to 2 in the type.
std::vector<double> values_of(const TensorView& tensor) {
  std::vector<double> values;
  const auto read = [&]<typename Value>(Value) {
    for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof(Value)) {
      Value value{};
      std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
      values.push_back(static_cast<double>(value));
    }
  };
  switch (tensor.dtype) {
    case TensorType::u8:
      read(std::uint8_t{});
      break;
    case TensorType::i8:
      read(std::int8_t{});
      break;
    case TensorType::u16:
      read(std::uint16_t{});
      break;
    case TensorType::i16:
      read(std::int16_t{});
      break;
    case TensorType::u32:
      read(std::uint32_t{});
      break;
    case TensorType::i32:
      read(std::int32_t{});
      break;
    case TensorType::f32:
      read(float{});
      break;
    case TensorType::f64:
      read(double{});
      break;
    default:
      break;  // half precision, which the compiler has no type for, is looked at as bits
  }
  return values;
}

std::vector<double> expected_values(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return {253, 254, 255, 0, 1, 2};
    case TensorType::u16:
      return {65533, 65534, 65535, 0, 1, 2};
    case TensorType::u32:
      return {4294967293, 4294967294, 4294967295, 0, 1, 2};
    default:
      return {-3, -2, -1, 0, 1, 2};
  }
}

TEST(Crc32c, HasThePublishedCheckValue) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c_by_table(bytes_of("123456789")), 0xE3069283u);
  // RFC 3720, B.4: 32 bytes of zeros, of ones, and 0 to 31.
  EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62A8AB43u);
  std::vector<std::byte> rising(32);
  for (std::size_t at = 0; at < 32; ++at) rising[at] = static_cast<std::byte>(at);
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
  // The masked checksum of eight zero bytes, as TFRecord has it.
  EXPECT_EQ(masked_crc32c(crc32c(std::vector<std::byte>(8))), 0x07980329u);
}

TEST(Crc32c, IsTheSameByInstructionByTableAndInPieces) {
  std::vector<std::byte> bytes(257);
  for (std::size_t at = 0; at < bytes.size(); ++at)
    bytes[at] = static_cast<std::byte>(at * 37 + 11);
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t end = begin; end <= bytes.size(); end += 5) {
      const auto part = std::span(bytes).subspan(begin, end - begin);
      EXPECT_EQ(crc32c(part), crc32c_by_table(part));
      const std::size_t middle = part.size() / 3;
      EXPECT_EQ(crc32c(part.subspan(middle), crc32c(part.first(middle))), crc32c(part));
    }
  }
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  const std::vector<float> matrix{1, 2, 3, 4, 5, 6};
  const std::int64_t scalar = -7;
  const std::vector<std::uint8_t> odd{1, 2, 3};
  const std::vector<TensorView> tensors{
      {"z.weight", TensorType::f32, {2, 3}, std::as_bytes(std::span(matrix))},
      {"a \"quoted\" \xc3\xa9", TensorType::u8, {3}, std::as_bytes(std::span(odd))},
      {"scalar", TensorType::i64, {}, std::as_bytes(std::span(&scalar, 1))},
      {"empty", TensorType::f64, {0, 4}, {}}};
  const auto file = written(tensors, {{"format", "pt"}});
  const Safetensors read = parse_safetensors(file, "file");
  EXPECT_TRUE(fixtures::same(read.tensors, tensors));
  EXPECT_EQ(read.metadata, (TensorMetadata{{"format", "pt"}}));
}

TEST(Safetensors, TheHeaderIsInTheOrderGivenAndAligned) {
  const std::vector<float> values{1, 2};
  const std::vector<TensorView> tensors{
      {"b", TensorType::f32, {2}, std::as_bytes(std::span(values))},
      {"a", TensorType::f32, {1}, std::as_bytes(std::span(values)).first(4)}};
  const auto file = written(tensors, {});
  const std::string text(reinterpret_cast<const char*>(file.data()) + 8, file.size() - 8 - 12);
  EXPECT_EQ(text, R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                  R"("a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}    )");
  EXPECT_EQ((file.size() - 12) % 8, 0u);
}

TEST(Safetensors, AFileWithoutTensorsIsGood) {
  EXPECT_TRUE(parse_safetensors(written({}, {}), "file").tensors.empty());
  EXPECT_TRUE(parse_safetensors(file_of("{}", 0), "file").tensors.empty());
}

TEST(Safetensors, AnUnalignedHeaderAZeroSizeAndAScalarAreGood) {
  const auto read =
      parse_safetensors(file_of(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                R"("e":{"dtype":"I64","shape":[0,4],"data_offsets":[4,4]}})",
                                4),
                        "file");
  ASSERT_EQ(read.tensors.size(), 2u);
  EXPECT_EQ(read.tensors[0].name, "s");
  EXPECT_EQ(read.tensors[1].shape, (std::vector<std::int64_t>{0, 4}));
}

TEST(Safetensors, EveryTypeOfTheFormatIsReadWithItsSize) {
  const std::vector<std::pair<std::string, std::size_t>> bytes_of_8{
      {"BOOL", 8}, {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},   {"F8_E5M2", 8},     {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"I16", 16}, {"F8_E5M2FNUZ", 8}, {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32}, {"U32", 32},        {"F32", 32},    {"C64", 64},    {"F64", 64},
      {"I64", 64}, {"U64", 64}};
  for (const auto& [name, bytes] : bytes_of_8) {
    const auto file = file_of(
        fmt::format(R"({{"x":{{"dtype":"{}","shape":[2,4],"data_offsets":[0,{}]}}}})", name, bytes),
        bytes);
    ASSERT_EQ(parse_safetensors(file, "file").tensors.size(), 1u) << name;
    EXPECT_EQ(name_of(parse_safetensors(file, "file").tensors[0].dtype), name);
  }
}

TEST(Safetensors, WhatTheFormatForbidsIsRefusedWithTheReason) {
  const std::string one = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  const std::vector<std::tuple<std::string, std::size_t, std::string>> bad{
      {R"( {"a":{)" + one + "}}", 4, "does not begin with '{'"},
      {"{\"a\xff\":{}}", 0, "not JSON in UTF-8, at byte 4"},
      {R"({"a":{)" + one + "}", 4, "not JSON"},
      {R"({"a":{)" + one + R"(},"a":{)" + one + "}}", 4, "\"a\" occurs twice"},
      {R"({"a":{)" + one + R"(,"dtype":"F32"}})", 4, "\"dtype\" occurs twice"},
      {R"({"__metadata__":{"k":1},"a":{)" + one + "}}", 4, "\"k\" is not text"},
      {R"({"__metadata__":[],"a":{)" + one + "}}", 4, "\"__metadata__\" is not an object"},
      {R"({"a":3})", 0, "tensor \"a\": its entry is not an object"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "\"data_offsets\" is missing"},
      {R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4,
       "\"F33\", which is not known"},
      {R"({"a":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", 4, "\"dtype\" is not text"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, "\"shape\" is not a list"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "holds -1, not an extent"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4,
       "holds 1.0, not an extent"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4,
       "not an extent"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4, "is not [BEGIN, END]"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4, "is not [BEGIN, END]"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "before they begin"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})", 16,
       "F32 [3] needs 12 bytes, \"data_offsets\" gives it 16"},
      {R"({"a":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,0]}})", 0,
       "overflows"},
      {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1, "no whole number of bytes"},
      {R"({"a":{)" + one + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", 6,
       "an overlap with the tensor before it"},
      {R"({"a":{)" + one + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12,
       "a hole after the tensor before it"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "a hole after"},
      {R"({"a":{)" + one + "}}", 5, "need 4 bytes after the header, it has 5"},
      {R"({"a":{)" + one + "}}", 3, "need 4 bytes after the header, it has 3"}};
  for (const auto& [header, bytes, reason] : bad) {
    EXPECT_THAT(refusal(file_of(header, bytes)), HasSubstr(reason)) << header;
    EXPECT_THAT(refusal(file_of(header, bytes)), HasSubstr("x.safetensors")) << header;
  }
}

TEST(Safetensors, ALengthThatCannotBeIsRefused) {
  EXPECT_THAT(refusal(bytes_of("abc")), HasSubstr("3 bytes long"));
  auto file = file_of("{}", 0);
  const auto with_length = [&](std::uint64_t length) {
    std::memcpy(file.data(), &length, sizeof length);
    return refusal(file);
  };
  EXPECT_THAT(with_length(3), HasSubstr("only 2 bytes follow"));
  EXPECT_THAT(with_length(100'000'000), HasSubstr("only 2 bytes follow"));
  EXPECT_THAT(with_length(100'000'001), HasSubstr("more than the 100000000 that are allowed"));
  EXPECT_THAT(with_length(~std::uint64_t{0}), HasSubstr("more than the"));
  EXPECT_THAT(with_length(0), HasSubstr("does not begin with '{'"));
}

TEST(Safetensors, WhatCannotBeReadBackIsNotWritten) {
  const std::vector<float> values{1, 2};
  const auto bytes = std::as_bytes(std::span(values));
  const std::vector<std::vector<TensorView>> bad{
      {{"a", TensorType::f32, {2}, bytes}, {"a", TensorType::f32, {2}, bytes}},
      {{"__metadata__", TensorType::f32, {2}, bytes}},
      {{"a", TensorType::f32, {3}, bytes}},
      {{"a", TensorType::f32, {-2}, bytes}}};
  for (const auto& tensors : bad) EXPECT_THROW((void)written(tensors, {}), SafetensorsError);
}

TEST(Safetensors, NoCutOrChangedByteOfAHeaderIsReadOutOfBounds) {
  const fixtures::Content content(3);
  const auto whole = written(content.content().model, {{"format", "pt"}});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(
        (void)parse_safetensors(
            std::vector(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)), "cut"),
        SafetensorsError);
  }
  // A changed byte may leave a good file, with another name in it; it must not do worse.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned char flip : {0x01, 0x80, 0x7f}) {
      auto changed = whole;
      changed[at] ^= static_cast<std::byte>(flip);
      std::uint64_t sum = 0;
      try {
        for (const TensorView& tensor : parse_safetensors(changed, "changed").tensors) {
          sum += crc32c(tensor.bytes);
        }
      } catch (const SafetensorsError&) {
        continue;
      }
      EXPECT_NE(sum, 0u);
    }
  }
}

TEST(SafetensorsCorpus, FilesOfTheOfficialLibraryAreRead) {
  const auto folder = fixtures::corpus("safetensors");
  if (!folder) GTEST_SKIP() << "SKIPPED: the shared corpus is not here";
  PosixFileSystem files;
  int tensors = 0;
  for (const std::string& name : files.list(*folder)) {
    if (!name.ends_with(".safetensors")) continue;
    const auto bytes = read_file(files, *folder / name);
    const Safetensors read = parse_safetensors(bytes, name);
    EXPECT_EQ(read.metadata, (TensorMetadata{{"test", "a"}})) << name;
    EXPECT_EQ(read.tensors.size(), name == "overall.safetensors" ? 9u : 1u) << name;
    for (const TensorView& tensor : read.tensors) {
      ++tensors;
      EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{6}));
      if (tensor.dtype == TensorType::f16) {
        std::vector<std::uint16_t> bits(6);
        ASSERT_EQ(tensor.bytes.size(), 12u);
        std::memcpy(bits.data(), tensor.bytes.data(), 12);
        EXPECT_EQ(bits, (std::vector<std::uint16_t>{0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000}));
      } else {
        EXPECT_EQ(values_of(tensor), expected_values(tensor.dtype)) << name << " " << tensor.name;
      }
    }
  }
  EXPECT_GE(tensors, 9);
}

TEST(SafetensorsCorpus, DamagedFilesAreRefusedAndGoodOnesAmongThemRead) {
  const auto folder = fixtures::corpus("safetensors/damaged");
  if (!folder) GTEST_SKIP() << "SKIPPED: the shared corpus is not here";
  const std::map<std::string, std::string> reasons{
      {"shorter_than_8_bytes", "shorter than the 8 bytes"},
      {"header_len_over_100MB", "more than the 100000000"},
      {"header_len_u64_max", "more than the 100000000"},
      {"header_len_past_eof", "bytes follow"},
      {"header_not_utf8", "not JSON in UTF-8"},
      {"header_not_json", "not JSON"},
      {"unknown_dtype", "is not known"},
      {"metadata_not_string", "is not text"},
      {"overlapping_offsets", "an overlap"},
      {"hole_between_tensors", "a hole"},
      {"end_before_begin", "before they begin"},
      {"trailing_bytes_not_indexed", "bytes after the header"},
      {"data_truncated", "bytes after the header"},
      {"shape_mismatch", "needs 12 bytes"},
      {"shape_overflow", "overflows"},
      {"duplicate_key", "occurs twice"},
      {"header_starts_with_space", "does not begin with '{'"}};
  PosixFileSystem files;
  int seen = 0;
  for (const std::string& name : files.list(*folder)) {
    const auto bytes = read_file(files, *folder / name);
    const std::string subject = name.substr(0, name.find('.'));
    ++seen;
    if (const auto reason = reasons.find(subject); reason != reasons.end()) {
      EXPECT_THAT(refusal(bytes), HasSubstr(reason->second)) << name;
    } else {
      EXPECT_EQ(parse_safetensors(bytes, name).tensors.size(), 2u) << name;
    }
  }
  EXPECT_GE(seen, 9);
}

// The word of the official library, where it is installed.
TEST(SafetensorsPython, TheOfficialLibraryReadsWhatIsWritten) {
  if (std::system("python3 -c 'import safetensors' 2>/dev/null") != 0) {
    GTEST_SKIP() << "SKIPPED: python3 has no module safetensors";
  }
  const TemporaryFolder folder;
  PosixFileSystem files;
  const fixtures::Content content(5);
  write_safetensors(*files.create_file(folder.path() / "model.safetensors"),
                    content.content().model, {{"format", "pt"}});
  const auto script = folder.path() / "check.py";
  std::ofstream(script) << R"(
import struct, sys
from safetensors import deserialize
with open(sys.argv[1], "rb") as file:
    tensors = dict(deserialize(file.read()))
weight = tensors["fc.weight"]
assert weight["dtype"] == "F32" and list(weight["shape"]) == [2, 3], weight
assert struct.unpack("<6f", bytes(weight["data"])) == (5, 5.125, 5.25, 5.375, 5.5, 5.625), weight
batches = tensors["bn.num_batches_tracked"]
assert batches["dtype"] == "I64" and list(batches["shape"]) == [], batches
assert struct.unpack("<q", bytes(batches["data"])) == (5,), batches
assert sorted(tensors) == ["bn.num_batches_tracked", "fc.bias", "fc.weight"], sorted(tensors)
)";
  const std::string command = fmt::format("python3 '{}' '{}'", script.string(),
                                          (folder.path() / "model.safetensors").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace lockstep::runtime::checkpoint
