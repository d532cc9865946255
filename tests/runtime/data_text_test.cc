// Text: characters and bytes, the vocabulary, what is not UTF-8, and the real one where it is
// there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/token_sequence.h"
#include "runtime/data/utf8.h"
#include "runtime/job_data.h"
#include "tests/runtime/data_files.h"

namespace lockstep::runtime::data {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using Tokens = std::vector<std::int32_t>;

Tokens tokens_of(const TokenSequence& sequence) {
  Tokens tokens(static_cast<std::size_t>(sequence.size()));
  sequence.read(0, tokens);
  return tokens;
}

class TextFiles : public DataFiles {
 protected:
  std::unique_ptr<TokenSequence> characters_of(const Bytes& bytes) const {
    return read_text(write("text", bytes), TextVocabulary::characters);
  }
  std::string refusal_of_text(const std::string& text) const {
    return refusal_of([&] { static_cast<void>(characters_of(bytes_of(text))); });
  }
  // A job that trains on the first part of a text and evaluates on the rest.
  Job job_of(const std::filesystem::path& path, double cut) const {
    Job job;
    job.data.train.format = DataFormat::text;
    job.data.train.path = path;
    job.data.train.to = cut;
    job.data.eval = job.data.train;
    job.data.eval->from = cut;
    job.data.eval->to = 1;
    return job;
  }
};

TEST_F(TextFiles, CharactersAreNumberedByCodePoint) {
  const auto text = characters_of(bytes_of("b€a\n😀aé"));
  EXPECT_THAT(tokens_of(*text), ElementsAre(2, 4, 1, 0, 5, 1, 3));
  EXPECT_EQ(text->values(), 6);
  EXPECT_EQ(text->vocabulary(), R"(["\n","a","b","é","€","😀"])");
  Tokens part(2);
  text->read(3, part);
  EXPECT_THAT(part, ElementsAre(0, 5));
}

TEST_F(TextFiles, BytesAreTokensAsTheyAre) {
  const auto text = read_text(write("text", {0, 200, 65, 255, 10}), TextVocabulary::bytes);
  EXPECT_THAT(tokens_of(*text), ElementsAre(0, 200, 65, 255, 10));
  EXPECT_EQ(text->values(), 256);
  EXPECT_EQ(text->vocabulary(), "");
}

TEST_F(TextFiles, GzipIsToldByContent) {
  std::string long_text;
  for (int i = 0; i < 700000; ++i) long_text += static_cast<char>('a' + i % 23);
  EXPECT_EQ(tokens_of(*characters_of(gzip(bytes_of(long_text)))),
            tokens_of(*characters_of(bytes_of(long_text))));
}

// Tokens of 2 and of 4 bytes in memory.
TEST_F(TextFiles, AnyNumberOfCharactersIsRead) {
  for (const std::uint32_t many : {256U, 257U, 65536U, 65537U, 90000U}) {
    std::string text;
    Tokens expected;
    std::uint32_t character = 0x20;
    for (std::uint32_t token = 0; token < many; ++token, ++character) {
      if (character == 0xD800) character = 0xE000;  // surrogates are no characters
      text += encode_utf8(character);
      expected.push_back(static_cast<std::int32_t>(token));
    }
    const auto sequence = characters_of(bytes_of(text));
    EXPECT_EQ(sequence->values(), many);
    EXPECT_EQ(tokens_of(*sequence), expected);
    EXPECT_EQ(nlohmann::json::parse(sequence->vocabulary()).size(), many);
  }
}

TEST(Utf8, EveryCodePointReadsBack) {
  for (std::uint32_t value = 0; value < kCodePoints; ++value) {
    if (value == 0xD800) value = 0xE000;
    const std::string text = encode_utf8(value);
    const Bytes bytes = bytes_of(text + "x");
    const auto decoded = decode_utf8(bytes);
    ASSERT_TRUE(decoded) << value;
    ASSERT_EQ(decoded->value, value);
    ASSERT_EQ(decoded->length, text.size());
  }
}

TEST_F(TextFiles, WhatIsNotUtf8SaysWhereAndAdvisesBytes) {
  EXPECT_EQ(
      refusal_of_text("Z\xc3\xbcrich, M\xfcnchen"),
      "text: byte 10: expected a character in UTF-8, found byte fc, which does not begin one: "
      "convert the text to UTF-8, or set \"vocabulary\": \"bytes\"");
  const std::vector<std::string> wrong = {
      "\x80",              // a continuation alone
      "\xc0\x80",          // overlong
      "\xc1\xbf",          //
      "\xe0\x9f\xbf",      //
      "\xf0\x8f\xbf\xbf",  //
      "\xed\xa0\x80",      // a surrogate
      "\xed\xbf\xbf",      //
      "\xf4\x90\x80\x80",  // above U+10FFFF
      "\xf8\x88\x80\x80\x80",
      "\xc3",          // cut off
      "\xe2\x82",      //
      "\xf0\x9f\x98",  //
      "\xc3\x28",      // no continuation
      "\xe2\x28\xa1",  //
      "\xff",
  };
  for (const std::string& bytes : wrong) {
    EXPECT_THAT(refusal_of_text("ab" + bytes), HasSubstr("text: byte 2: expected")) << bytes;
  }
}

TEST_F(TextFiles, MissingAndEmptyFilesAreNamed) {
  EXPECT_EQ(refusal_of([&] {
              static_cast<void>(read_text(folder_ / "none", TextVocabulary::characters));
            }),
            "none: no such file");
  EXPECT_EQ(refusal_of_text(""), "text: the file is empty");
}

TEST_F(TextFiles, VocabularyIsThatOfTheWholeFileWhateverThePart) {
  const Job job = job_of(write("text", bytes_of("aaaaaaaaaabbbbbbbbbbxyzxyzxyz")), 0.6);
  const Datasets datasets = open_datasets(job, {.context = 4, .vocabulary = 5});
  EXPECT_EQ(datasets.train->classes(), 5);
  EXPECT_EQ(datasets.train->vocabulary(), R"(["a","b","x","y","z"])");
  EXPECT_EQ(datasets.eval->vocabulary(), datasets.train->vocabulary());
  Sample sample;
  datasets.eval->read({0}, sample);
  EXPECT_THAT(sample.tokens, ElementsAre(1, 1, 1, 2));
  EXPECT_EQ(shape_of({.data = {.train = job.data.train, .eval = {}, .batch = 2}, .steps = 1},
                     datasets, 1, 1)
                .vocabulary,
            datasets.train->vocabulary());
}

TEST_F(TextFiles, CharactersOfTwoFilesAreNotMixed) {
  Job job = job_of(write("text", bytes_of("abcabcabcabcabc")), 1);
  job.data.eval->path = write("other", bytes_of("abdabdabd"));
  job.data.eval->from = 0;
  const SourceNeeds needs{.context = 2, .vocabulary = 256};
  EXPECT_THAT(refusal_of([&] { static_cast<void>(open_datasets(job, needs)); }),
              HasSubstr("data.eval: a token does not stand for the same as in data.train"));
  job.data.train.vocabulary = job.data.eval->vocabulary = TextVocabulary::bytes;
  EXPECT_EQ(open_datasets(job, needs).eval->size(), 4U);
  job.data.train.vocabulary = job.data.eval->vocabulary = TextVocabulary::characters;
  job.data.eval->path = write("other", bytes_of("cba"));
  EXPECT_EQ(open_datasets(job, needs).eval->size(), 1U);
}

std::string section_of(const JobShape& shape, const Job& job, std::string_view name) {
  const JobPlan plan{.shape = shape, .ops = {}, .compiled = {}};
  for (const auto& section : agreement_of(plan, job, 2)) {
    if (section.name == name) return section.text;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST_F(TextFiles, RanksAgreeOnThePartAndTheVocabularyAndHaveTheirOwnPath) {
  Job job = job_of(folder_ / "text", 0.75);
  EXPECT_EQ(section_of({.sample = {}, .vocabulary = R"(["a","b"])"}, job, "vocabulary"),
            "[\n\"a\",\n\"b\"\n]");
  EXPECT_EQ(section_of({}, job, "vocabulary"), "");
  const std::string text = section_of({}, job, "job");
  EXPECT_THAT(text, HasSubstr("/data/train/to 0.75\n"));
  EXPECT_THAT(text, HasSubstr("/data/train/vocabulary \"characters\"\n"));
  job.data.train.path = "/elsewhere";
  EXPECT_EQ(section_of({}, job, "job"), text);
  job.data.train.to = 0.8;
  EXPECT_NE(section_of({}, job, "job"), text);
}

TEST_F(TextFiles, VocabularyOfTheModelThatIsTooSmallNamesTheFirstToken) {
  const Job job = job_of(write("text", bytes_of("aabacbdcdaab")), 0.5);
  EXPECT_EQ(refusal_of([&] {
              static_cast<void>(open_source(job, Split::train, {.context = 2, .vocabulary = 3}));
            }),
            "token 3 at position 6 of text is not below the model's vocabulary of 3: raise "
            "model.vocabulary to 4 or use data of another encoding");
}

TEST_F(TextFiles, DataOfAnotherKindThanTheModelsIsRefused) {
  Job job = job_of(write("text", bytes_of("abababab")), 0.5);
  job.model.kind = ModelKind::lenet;
  EXPECT_EQ(refusal_of([&] { static_cast<void>(open_source(job, Split::eval)); }),
            "data.eval.format: the model lenet takes images, but \"text\" holds tokens: use idx or "
            "synthetic, or a model of tokens");
  job.data.train.format = DataFormat::idx;
  EXPECT_THAT(
      refusal_of([&] { static_cast<void>(open_source(job, Split::train, {.context = 2})); }),
      HasSubstr("takes tokens, but \"idx\" holds images: use text, tokens or synthetic"));
}

// nanoGPT's split of it: 1,003,854 characters to train on and 111,540 to evaluate on.
TEST(RealText, TinyShakespeare) {
  const auto path =
      std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "../shared/corpus/data/text/tinyshakespeare.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: " << path << " is not here";
  Job job;
  job.data.train.format = DataFormat::text;
  job.data.train.path = path;
  job.data.train.to = 0.9;
  job.data.eval = job.data.train;
  job.data.eval->from = 0.9;
  job.data.eval->to = 1;
  const Datasets datasets = open_datasets(job, {.context = 64, .vocabulary = 65});
  EXPECT_EQ(datasets.train->classes(), 65);
  EXPECT_EQ(datasets.train->size(), (1003854U - 64U) / 64U);
  const auto vocabulary = nlohmann::json::parse(datasets.train->vocabulary());
  ASSERT_EQ(vocabulary.size(), 65U);
  EXPECT_EQ(vocabulary.front(), "\n");
  EXPECT_EQ(vocabulary.back(), "z");
  Sample sample;
  std::int64_t labels = 0;
  for (std::size_t i = 0; i < datasets.eval->size(); ++i) {
    datasets.eval->read({i}, sample);
    for (const std::int32_t label : sample.labels) labels += label == kNoLabel ? 0 : 1;
  }
  EXPECT_EQ(labels, 111539);
  const auto whole = read_text(path, TextVocabulary::characters);
  Tokens beginning(14);
  whole->read(0, beginning);
  std::string text;
  for (const std::int32_t token : beginning) {
    text += vocabulary.at(static_cast<std::size_t>(token)).get<std::string>();
  }
  EXPECT_EQ(text, "First Citizen:");
}

}  // namespace
}  // namespace lockstep::runtime::data
