#include "runtime/tensor_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::runtime {
namespace {

using checkpoint::TensorType;
using checkpoint::TensorView;

TensorView tensor(std::string name, std::vector<std::int64_t> shape,
                  TensorType type = TensorType::f32) {
  return {.name = std::move(name), .dtype = type, .shape = std::move(shape), .bytes = {}};
}

TEST(TensorMatch, EqualSetsHaveNoDifferencesInAnyOrder) {
  const std::vector<TensorView> model{tensor("a.weight", {2, 3}), tensor("a.bias", {2})};
  const std::vector<TensorView> file{tensor("a.bias", {2}), tensor("a.weight", {2, 3})};
  EXPECT_TRUE(differences(model, file).empty());
}

TEST(TensorMatch, EachDifferenceIsASentenceWithTheNearestName) {
  const std::vector<TensorView> model{tensor("layer1.weight", {2, 3}), tensor("layer1.bias", {2}),
                                      tensor("head.weight", {4}), tensor("scale", {1})};
  const std::vector<TensorView> file{tensor("layer1.weigth", {2, 3}), tensor("layer1.bias", {3}),
                                     tensor("head.weight", {4}, TensorType::f16)};
  EXPECT_THAT(
      differences(model, file),
      testing::ElementsAre("\"layer1.weight\" is missing (the file has \"layer1.weigth\")",
                           "\"layer1.bias\" is F32 [3], the model's is F32 [2]",
                           "\"head.weight\" is F16 [4], the model's is F32 [4]",
                           "\"scale\" is missing", "\"layer1.weigth\" is not in the model"));
}

TEST(TensorMatch, LongListsAreCutWithTheNumberOfTheOthers) {
  const std::vector<std::string> sentences(25, "different");
  const std::string text = listed(sentences);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 21);
  EXPECT_TRUE(text.ends_with("\n  and 5 more"));
}

}  // namespace
}  // namespace lockstep::runtime
