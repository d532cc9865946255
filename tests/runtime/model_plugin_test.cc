// Plug-ins: what is used, what is refused and in which words.
#include "runtime/model_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/plugin.h"
#include "runtime/data/source.h"
#include "runtime/from_job.h"
#include "runtime/job.h"
#include "runtime/job_plan.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::runtime {
namespace {

using engine::ModelFunction;
using engine::SampleShape;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const SampleShape kImages{.height = 5, .width = 4, .channels = 2};

engine::BuiltModel build(const ModelFunction& model) {
  return engine::build_training(model, engine::standard_ops(), {.sample = kImages, .batch = 3},
                                engine::MicroStep::whole);
}

std::vector<std::string> parameters_of(const engine::Graph& graph) {
  std::vector<std::string> names;
  for (const engine::ValueId id : graph.values_of(engine::Role::parameter)) {
    names.push_back(graph.value(id).name);
  }
  return names;
}

// Opens the plug-in and builds its model; what the PluginError says after the plug-in's name.
std::string refusal(const std::string& file, const std::string& keys = "{}") {
  try {
    static_cast<void>(build(model_of_plugin({.file = file, .keys = keys}, kImages, 7)));
  } catch (const PluginError& error) {
    const std::string begin = "plug-in " + file + ": ";
    EXPECT_THAT(error.what(), StartsWith(begin));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return std::string(error.what()).substr(begin.size());
  }
  ADD_FAILURE() << "accepted: " << file << " " << keys;
  return {};
}

std::string refusal_when_told_to(const std::string& what) {
  return refusal(PLUGIN_OBEDIENT, json{{"do", what}}.dump());
}

TEST(ModelPlugin, IsToldItsKeysAndTheDataAndBuildsTheModel) {
  const ModelFunction model =
      model_of_plugin({.file = PLUGIN_OBEDIENT, .keys = R"({"blocks":3})"}, kImages, 7);
  const engine::BuiltModel built = build(model);
  const std::string layer = R"({"blocks":3} 5x4x2 context 0 classes 7)";
  EXPECT_THAT(parameters_of(built.graph),
              ::testing::ElementsAre(layer + ".weight", layer + ".bias"));
  EXPECT_EQ(built.initial_values.size(), 2U);
}

TEST(ModelPlugin, StaysLoadedAsLongAsACopyOfItsModel) {
  ModelFunction copy;
  {
    const ModelFunction model = model_of_plugin({.file = PLUGIN_OBEDIENT}, kImages, 7);
    copy = model;
  }
  EXPECT_EQ(parameters_of(build(copy).graph).size(), 2U);
}

TEST(ModelPlugin, OfAnotherBuildIsRefusedWithBothStamps) {
  const auto both = AllOf(
      StartsWith("of another build: it was built for Lockstep 7.8.9 (build 0123456789abcdef, g++ "
                 "99.1), this is " +
                 plugin_stamp()),
      HasSubstr("build it again against this version of Lockstep"));
  EXPECT_THAT(refusal(PLUGIN_FOREIGN), both);
  // The loader's complaint of a missing function is not the reason.
  EXPECT_THAT(refusal(PLUGIN_FOREIGN_FUNCTIONS), both);
}

TEST(ModelPlugin, OfAnotherInterfaceIsRefusedWithoutReadingItsStamp) {
  EXPECT_THAT(refusal(PLUGIN_FOREIGN_INTERFACE),
              AllOf(HasSubstr("its plug-in interface is number 2"), HasSubstr(plugin_stamp()),
                    HasSubstr("build it again"), Not(HasSubstr("7.8.9"))));
}

TEST(ModelPlugin, FileThatIsNoneIsSaid) {
  EXPECT_THAT(refusal("/nowhere/libmine.so"), HasSubstr("no such file"));
  EXPECT_THAT(refusal(LIBRARY_LOCKSTEP), HasSubstr("no plug-in of Lockstep"));
  const launcher::TemporaryFolder folder;
  const std::string text = folder.path() / "text.so";
  std::ofstream(text) << "certainly no shared library, however long it goes on about being one";
  EXPECT_THAT(refusal(text), HasSubstr("cannot be loaded as a shared library"));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("cannot be loaded as a shared library"));
}

TEST(ModelPlugin, WhatItThrowsIsSaidAfterItsName) {
  EXPECT_EQ(refusal_when_told_to("throw while making"), "model.do: will not");
  EXPECT_EQ(refusal_when_told_to("throw while building"), "model.do: can not");
  EXPECT_THAT(refusal_when_told_to("throw a number"), HasSubstr("no std::exception"));
}

TEST(ModelPlugin, ThatGivesNoModelOrTooFewLogitsIsRefused) {
  EXPECT_THAT(refusal_when_told_to("make nothing"), HasSubstr("no model function"));
  EXPECT_THAT(refusal_when_told_to("return nothing"), HasSubstr("returned no logits"));
  EXPECT_THAT(refusal_when_told_to("forget one"),
              HasSubstr("logits of shape 3x6, expected a row a label and at least 7 columns"));
}

TEST(ModelPlugin, TakesTokensWhereTheJobGivesItAContext) {
  const auto needs = [](const json& model) {
    Job job;
    job.model.kind = ModelKind::plugin;
    if (model.contains("context")) job.model.window = model["context"];
    if (model.contains("vocabulary")) job.model.vocabulary = model["vocabulary"];
    return needs_of(job);
  };
  EXPECT_EQ(needs(json::object()).context, 0);
  EXPECT_EQ(needs({{"context", 16}}).context, 16);
  EXPECT_EQ(needs({{"context", 16}}).vocabulary, 0);
  EXPECT_EQ(needs({{"context", 16}, {"vocabulary", 99}}).vocabulary, 99);
}

TEST(ModelPlugin, WithoutAContextIsNotGivenTokens) {
  Job job;
  job.model.kind = ModelKind::plugin;
  job.data.train = {.format = DataFormat::text, .path = "/nowhere/text"};
  try {
    static_cast<void>(data::open_source(job, data::Split::train, needs_of(job)));
    ADD_FAILURE() << "accepted";
  } catch (const data::DataError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("the model plugin takes images, but \"text\" holds tokens"));
    EXPECT_THAT(error.what(), HasSubstr("give the plug-in a model.context"));
  }
}

json plugin_job() {
  return {{"model", {{"kind", "plugin"}, {"path", PLUGIN_OBEDIENT}, {"blocks", 3}}},
          {"data", {{"train", {{"format", "synthetic"}, {"samples", 100}}}, {"batch", 10}}},
          {"optimizer", {{"learning_rate", {{"peak", 0.1}}}}},
          {"steps", 1}};
}

// What ranks that train the job must agree on.
std::string agreed(const json& text) {
  const Job job = parse_job(text.dump(), "/jobs/mine.json");
  const JobShape shape{.sample = {.image = {28, 28, 1}}, .batch = 10, .capacity = 10};
  const JobPlan plan = plan_job(job, shape, engine::cpu::kernels(1));
  std::string all;
  for (const auto& section : agreement_of(plan, job, 2)) {
    all += section.name + ":\n" + section.text + "\n";
  }
  return all;
}

TEST(ModelPlugin, RanksAgreeOnItsStampKeysAndGraphButNotOnItsPlace) {
  const json here = plugin_job();
  EXPECT_THAT(agreed(here), AllOf(HasSubstr(plugin_stamp()), HasSubstr("/model/blocks 3"),
                                  HasSubstr(R"({"blocks":3} 28x28x1 context 0 classes 10)"),
                                  Not(HasSubstr(PLUGIN_OBEDIENT))));
  const launcher::TemporaryFolder folder;
  const std::filesystem::path copy = folder.path() / "libelsewhere.so";
  std::filesystem::copy_file(PLUGIN_OBEDIENT, copy);
  json elsewhere = here;
  elsewhere["model"]["path"] = copy.string();
  EXPECT_EQ(agreed(elsewhere), agreed(here));
  json other = here;
  other["model"]["blocks"] = 4;
  EXPECT_NE(agreed(other), agreed(here));
}

}  // namespace
}  // namespace lockstep::runtime
