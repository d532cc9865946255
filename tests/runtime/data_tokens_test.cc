// Files of tokens, written here byte by byte from their published formats; whole and damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/data/token_sequence.h"
#include "tests/runtime/data_files.h"

namespace lockstep::runtime::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Tokens = std::vector<std::int32_t>;

void append(Bytes& bytes, std::uint32_t value, int width) {
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

Bytes raw(const std::vector<std::uint32_t>& tokens, int width = 2) {
  Bytes bytes;
  for (const std::uint32_t token : tokens) append(bytes, token, width);
  return bytes;
}

struct Header {
  std::uint32_t magic = 20240520;
  std::uint32_t version = 1;
  std::uint32_t count = 0;
};

// llm.c: header = np.zeros(256, dtype=np.int32); [0] magic, [1] version, [2] number of tokens.
Bytes with_header(const Header& header, const Bytes& tokens) {
  Bytes bytes;
  append(bytes, header.magic, 4);
  append(bytes, header.version, 4);
  append(bytes, header.count, 4);
  bytes.resize(1024);
  bytes.insert(bytes.end(), tokens.begin(), tokens.end());
  return bytes;
}

class TokenFiles : public DataFiles {
 protected:
  std::unique_ptr<TokenSequence> open(const Bytes& bytes) const {
    return open_token_file(write("tokens", bytes));
  }
  std::string refusal(const Bytes& bytes) const {
    return refusal_of([&] { static_cast<void>(open(bytes)); });
  }
  // The job's training set is the file "tokens".
  Job job() const {
    Job job;
    job.data.train.format = DataFormat::tokens;
    job.data.train.path = folder_ / "tokens";
    return job;
  }
};

Tokens all_of(const TokenSequence& sequence) {
  Tokens tokens(static_cast<std::size_t>(sequence.size()));
  sequence.read(0, tokens);
  return tokens;
}

TEST_F(TokenFiles, LlmCsFilesForGpt2AreRead) {
  const auto file = open(with_header({.count = 4}, raw({50256, 0, 258, 65})));
  EXPECT_THAT(all_of(*file), ElementsAre(50256, 0, 258, 65));
  EXPECT_EQ(file->values(), 50257);
  EXPECT_EQ(file->vocabulary(), "");
  Tokens part(2);
  file->read(1, part);
  EXPECT_THAT(part, ElementsAre(0, 258));
}

TEST_F(TokenFiles, LlmCsFilesForLlama3AreRead) {
  const auto file = open(with_header({20240801, 7, 3}, raw({128000, 7, 70000}, 4)));
  EXPECT_THAT(all_of(*file), ElementsAre(128000, 7, 70000));
  EXPECT_EQ(file->values(), 128256);
}

TEST_F(TokenFiles, NanoGptsFilesHaveNoHeader) {
  const auto file = open(raw({5, 65535, 1}));
  EXPECT_THAT(all_of(*file), ElementsAre(5, 65535, 1));
  EXPECT_EQ(file->values(), 65536);
  EXPECT_EQ(open(raw({5, 6, 1}))->values(), 7);
  EXPECT_EQ(open(raw({9}))->size(), 1);
}

TEST_F(TokenFiles, LargeFilesAreReadInParts) {
  std::vector<std::uint32_t> tokens(200000);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = i % 50000;
  tokens[150000] = 50200;
  const auto file = open(raw(tokens));
  EXPECT_EQ(file->values(), 50201);
  EXPECT_EQ(all_of(*file), Tokens(tokens.begin(), tokens.end()));
}

TEST_F(TokenFiles, WrongCountSaysBothNumbers) {
  const std::string rest = "the file was cut off or written with a wrong header";
  EXPECT_EQ(
      refusal(with_header({.count = 5}, raw({1, 2, 3, 4}))),
      "tokens: byte 8: the header counts 5 tokens of 2 bytes, but 8 bytes follow it: " + rest);
  EXPECT_EQ(
      refusal(with_header({.count = 3}, raw({1, 2, 3, 4}))),
      "tokens: byte 8: the header counts 3 tokens of 2 bytes, but 8 bytes follow it: " + rest);
  Bytes odd = with_header({.count = 4}, raw({1, 2, 3, 4}));
  odd.pop_back();
  EXPECT_THAT(refusal(odd), HasSubstr("counts 4 tokens of 2 bytes, but 7 bytes follow it"));
  EXPECT_THAT(refusal(with_header({.count = 0}, {})), HasSubstr("counts 0 tokens"));
  EXPECT_THAT(refusal(with_header({.count = 0xffffffff}, raw({1}))), HasSubstr("counts -1 tokens"));
  EXPECT_THAT(refusal(with_header({20240801, 7, 4}, raw({1, 2, 3, 4}))),
              HasSubstr("counts 4 tokens of 4 bytes, but 8 bytes follow it"));
}

TEST_F(TokenFiles, OtherHeadersAreNamed) {
  EXPECT_EQ(refusal(with_header({.version = 2, .count = 1}, raw({1}))),
            "tokens: byte 4: expected version 1 of llm.c's tokens for GPT-2, found 2");
  EXPECT_EQ(refusal(with_header({20240801, 1, 1}, raw({1}, 4))),
            "tokens: byte 4: expected version 7 of llm.c's tokens for Llama 3, found 1");
  EXPECT_EQ(refusal(with_header({20240522, 1, 1}, raw({1}))),
            "tokens: byte 0: expected tokens to train on, found llm.c's questions with several "
            "answers (magic 20240522)");
  Bytes cut = with_header({.count = 1}, raw({1}));
  cut.resize(1023);
  EXPECT_EQ(refusal(cut),
            "tokens: the file is cut off: expected 1024 bytes of llm.c's header, found 1023");
}

TEST_F(TokenFiles, OddNumberOfBytesIsAnError) {
  EXPECT_EQ(refusal({1, 0, 2, 0, 3}),
            "tokens: expected tokens of 2 bytes (llm.c's header is not there), found an odd number "
            "of bytes, 5: the file was cut off or holds no tokens");
  EXPECT_THAT(refusal({1}), HasSubstr("odd number of bytes, 1"));
}

TEST_F(TokenFiles, MissingAndEmptyFilesAreNamed) {
  EXPECT_EQ(refusal_of([&] { static_cast<void>(open_token_file(folder_ / "none")); }),
            "none: no such file");
  EXPECT_EQ(refusal_of([&] { static_cast<void>(open_token_file(folder_)); }),
            folder_.string() + ": expected a file, found a folder");
  EXPECT_EQ(refusal({}), "tokens: the file is empty");
}

TEST_F(TokenFiles, TokensThatNoVocabularyCanHaveAreRefused) {
  EXPECT_EQ(refusal(with_header({20240801, 7, 2}, raw({1, 0xffffffff}, 4))),
            "tokens: expected tokens below 2^31-1, found 4294967295: the file is damaged");
}

TEST_F(TokenFiles, TokenAboveTheModelsVocabularyIsNamedWithItsPlace) {
  std::vector<std::uint32_t> tokens(100000, 7);
  tokens[70001] = 50300;
  tokens[70002] = 60000;
  write("tokens", with_header({.count = 100000}, raw(tokens)));
  EXPECT_EQ(
      refusal_of([&] {
        static_cast<void>(open_source(job(), Split::train, {.context = 8, .vocabulary = 50257}));
      }),
      "token 50300 at position 70001 of tokens is not below the model's vocabulary of 50257: "
      "raise model.vocabulary to 60001 or use data of another encoding");
  EXPECT_EQ(open_source(job(), Split::train, {.context = 8, .vocabulary = 60001})->classes(),
            60001);
}

// Files of GPT-2's encoding have room for 50257 tokens, but need not have them.
TEST_F(TokenFiles, SmallVocabularyIsEnoughForSmallTokens) {
  write("tokens", with_header({.count = 20}, raw(std::vector<std::uint32_t>(20, 99))));
  EXPECT_EQ(open_source(job(), Split::train, {.context = 8, .vocabulary = 100})->size(), 1U);
}

TEST_F(TokenFiles, PartOfAFileIsUsed) {
  std::vector<std::uint32_t> tokens(100);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint32_t>(i);
  write("tokens", raw(tokens));
  Job part = job();
  part.data.eval = part.data.train;
  part.data.eval->from = 0.95;
  const auto source = open_source(part, Split::eval, {.context = 3});
  Sample sample;
  ASSERT_EQ(source->size(), 2U);
  source->read({0}, sample);
  EXPECT_THAT(sample.labels, ElementsAre(96, 97, 98));
  source->read({1}, sample);
  EXPECT_THAT(sample.labels, ElementsAre(99, kNoLabel, kNoLabel));
}

TEST_F(TokenFiles, FileThatShrinksWhileInUseIsAnErrorWithItsName) {
  const auto file = open(raw({1, 2, 3, 4, 5, 6, 7, 8}));
  std::filesystem::resize_file(folder_ / "tokens", 10);
  Tokens tokens(4);
  file->read(0, tokens);
  EXPECT_EQ(
      refusal_of([&] { file->read(3, tokens); }),
      "tokens: byte 10: the file ends here; it had 16 bytes when it was opened: do not change "
      "data while it is in use");
}

// Whatever happens to a file's bytes, it is read or refused with a DataError.
TEST_F(TokenFiles, DamagedFilesAreReadOrRefused) {
  std::mt19937 random(5);
  const std::array<Bytes, 2> wholes = {with_header({.count = 8}, raw({1, 2, 3, 4, 5, 6, 7, 8})),
                                       with_header({20240801, 7, 4}, raw({1, 2, 3, 4}, 4))};
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    Bytes bytes = wholes.at(static_cast<std::size_t>(round % 2));
    if (round % 3 == 0)
      bytes.resize(random() % bytes.size());
    else
      bytes[random() % 12] ^= static_cast<std::uint8_t>(1U << random() % 8);
    try {
      static_cast<void>(all_of(*open(bytes)));
    } catch (const DataError& error) {
      ++refused;
      EXPECT_THAT(error.what(), StartsWith(folder_.string()));
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace lockstep::runtime::data
