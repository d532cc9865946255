// The job file: what is read, what is refused and in which words.
#include "runtime/job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "runtime/nearest.h"

namespace lockstep::runtime {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::filesystem::path kSource = LOCKSTEP_SOURCE_DIR;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

json small_job() {
  return json::parse(R"({
    "model": {"kind": "mlp"},
    "data": {"train": {"format": "synthetic", "samples": 100}, "batch": 10},
    "optimizer": {"learning_rate": {"peak": 0.1}},
    "epochs": 1
  })");
}

Job read(const json& job) {
  return parse_job(job.dump(), "/jobs/small.json");
}

// The message of the JobError; a failure of the test where the job is accepted.
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_job(text, "/jobs/small.json"));
  } catch (const JobError& error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

// The small job with one key set: "/data/batch", 0.
std::string refusal_with(const std::string& pointer, const json& value) {
  json job = small_job();
  job[json::json_pointer(pointer)] = value;
  return refusal(job.dump());
}

TEST(Job, DefaultsAreFilled) {
  const Job job = read(small_job());
  EXPECT_EQ(job.name, "small");
  EXPECT_EQ(job.seed, 1U);
  EXPECT_EQ(job.data.batch, 10);
  EXPECT_FALSE(job.data.batch_per_worker);
  EXPECT_FALSE(job.data.eval);
  EXPECT_EQ(job.data.threads, 2);
  EXPECT_EQ(job.optimizer.kind, OptimizerKind::sgd);
  EXPECT_EQ(job.optimizer.momentum, 0.9);
  EXPECT_FALSE(job.optimizer.clip_norm);
  EXPECT_FALSE(job.checkpoint);
  EXPECT_EQ(job.resume, "never");
  EXPECT_EQ(job.parallel.deadline_s, 600);
  EXPECT_EQ(job.epochs, 1);
  EXPECT_FALSE(job.steps);
}

TEST(Job, EveryValueIsTaken) {
  const Job job = parse_job(R"(// a comment
    {
      "name": "all", "seed": 18446744073709551615,
      "model": {"kind": "resnet", "depth": 20, "stem": "small", "width": 32, "classes": 7},
      "data": {
        "train": {"format": "idx", "images": "a.gz", "labels": "../b"},
        "eval": {"format": "idx", "images": "/c", "labels": "d"},
        "batch_per_worker": 64, "threads": 0, "prefetch": 5, "bad_budget": 0,
        "transforms": [{"kind": "flip", "direction": "horizontal", "probability": 0.25},
                       {"kind": "crop", "padding": 4, "size": 24},
                       {"kind": "normalise", "mean": [0.1, 0.2, 0.3], "std": [1]}]
      },
      "optimizer": {
        "kind": "adamw",
        "learning_rate": {"schedule": "step", "peak": 3e-4, "final": 1e-6, "warmup_steps": 10,
                          "decay_steps": 20, "milestones": [30, 40], "factor": 0.5},
        "momentum": 0.5, "nesterov": true, "betas": [0.8, 0.9], "epsilon": 1e-7,
        "weight_decay": 0.1, "decay_on": "all", "clip_norm": 2.5
      },
      "precision": "fp32", "accumulate": 4, "recompute": "none", "batch_norm": "synchronised",
      "parallel": {"backend": "host", "bucket_mib": 1.5, "overlap": false, "synchronise": false,
                   "shard_optimizer": true, "wire_precision": "fp32", "deadline_s": 30},
      "device": "cpu", "steps": 1e3, "eval_every_steps": 100, "log_every_steps": 1,
      "checkpoint": {"every_steps": 7, "keep": 2}, "resume": "auto", "profile": null,
      "metrics": {"tensorboard": false, "prometheus": null}
    } /* the end */)",
                            "/jobs/x/all.json");
  EXPECT_EQ(job.seed, 18446744073709551615U);
  EXPECT_EQ(job.model.kind, ModelKind::resnet);
  EXPECT_EQ(job.model.depth, 20);
  EXPECT_EQ(job.model.width, 32);
  EXPECT_EQ(job.model.classes, 7);
  EXPECT_EQ(job.data.train.images, "/jobs/x/a.gz");
  EXPECT_EQ(job.data.train.labels, "/jobs/b");
  EXPECT_EQ(job.data.eval->images, "/c");
  EXPECT_EQ(job.data.batch_per_worker, 64);
  EXPECT_EQ(effective_batch(job.data, 3), 192);
  EXPECT_EQ(job.data.threads, 0);
  EXPECT_EQ(job.data.prefetch, 5);
  ASSERT_EQ(job.data.transforms.size(), 3U);
  EXPECT_EQ(job.data.transforms[0].probability, 0.25);
  EXPECT_EQ(job.data.transforms[1].padding, 4);
  EXPECT_EQ(job.data.transforms[1].size, 24);
  EXPECT_EQ(job.data.transforms[2].mean, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(job.optimizer.kind, OptimizerKind::adamw);
  EXPECT_EQ(job.optimizer.learning_rate.schedule, Schedule::step);
  EXPECT_EQ(job.optimizer.learning_rate.peak, 3e-4);
  EXPECT_EQ(job.optimizer.learning_rate.milestones, (std::vector<std::int64_t>{30, 40}));
  EXPECT_EQ(job.optimizer.betas[1], 0.9);
  EXPECT_EQ(job.optimizer.decay_on, DecayOn::all);
  EXPECT_EQ(job.optimizer.clip_norm, 2.5);
  EXPECT_EQ(job.accumulate, 4);
  EXPECT_EQ(job.batch_norm, BatchNorm::synchronised);
  EXPECT_EQ(job.parallel.backend, Backend::host);
  EXPECT_EQ(job.parallel.bucket_mib, 1.5);
  EXPECT_FALSE(job.parallel.overlap);
  EXPECT_FALSE(job.parallel.synchronise);
  EXPECT_EQ(job.parallel.shard_optimizer, true);
  EXPECT_EQ(job.device, DeviceChoice::cpu);
  EXPECT_EQ(job.steps, 1000);
  EXPECT_EQ(job.checkpoint->every_steps, 7);
  EXPECT_FALSE(job.metrics.tensorboard);
}

TEST(Job, SetsOfTokensAreTaken) {
  json written = small_job();
  written["data"]["train"] = {{"format", "text"}, {"path", "a.txt"}, {"to", 0.9}};
  written["data"]["eval"] = {
      {"format", "text"}, {"path", "/b.txt"}, {"vocabulary", "bytes"}, {"from", 0.9}};
  const Job job = read(written);
  EXPECT_EQ(job.data.train.format, DataFormat::text);
  EXPECT_EQ(job.data.train.path, "/jobs/a.txt");
  EXPECT_EQ(job.data.train.vocabulary, TextVocabulary::characters);
  EXPECT_EQ(job.data.train.from, 0);
  EXPECT_EQ(job.data.train.to, 0.9);
  EXPECT_EQ(job.data.eval->path, "/b.txt");
  EXPECT_EQ(job.data.eval->vocabulary, TextVocabulary::bytes);
  EXPECT_EQ(job.data.eval->from, 0.9);
  EXPECT_EQ(job.data.eval->to, 1);
  const json resolved = to_json(job);
  EXPECT_EQ(to_json(parse_job(resolved.dump(), "/elsewhere/job.json")), resolved);
  written["data"]["train"] = {{"format", "tokens"}, {"path", "t.bin"}, {"from", 0.5}};
  written["data"].erase("eval");
  const Job tokens = read(written);
  EXPECT_EQ(tokens.data.train.format, DataFormat::tokens);
  EXPECT_EQ(tokens.data.train.from, 0.5);
  EXPECT_FALSE(to_json(tokens)["data"]["train"].contains("vocabulary"));
}

TEST(Job, ResolvedJobReadsBackTheSame) {
  for (const char* example : {"fashion-lenet", "fashion-resnet8", "fashion-mlp"}) {
    const Job job = load_job(kSource / "docs/examples" / (std::string(example) + ".json"));
    EXPECT_EQ(job.name, example);
    const json resolved = to_json(job);
    EXPECT_EQ(to_json(parse_job(resolved.dump(), "/elsewhere/job.json")), resolved);
  }
  const json resolved = to_json(read(small_job()));
  EXPECT_EQ(resolved["parallel"]["bucket_mib"], "auto");
  EXPECT_EQ(resolved["optimizer"]["learning_rate"]["schedule"], "constant");
  EXPECT_TRUE(resolved["checkpoint"].is_null());
  EXPECT_EQ(to_json(parse_job(resolved.dump(), "/elsewhere/job.json")), resolved);
}

TEST(Job, KeysOfAPluginsOwnAreKeptAndWrittenBack) {
  json text = small_job();
  text["model"] = {{"kind", "plugin"}, {"path", "libs/mine.so"},        {"classes", 3},
                   {"blocks", 4},      {"shape", {{"wide", {1, 2.5}}}}, {"contxt", "anything"}};
  const Job job = read(text);
  EXPECT_EQ(job.model.plugin, "/jobs/libs/mine.so");
  EXPECT_EQ(job.model.classes, 3);
  EXPECT_FALSE(job.model.window);
  EXPECT_EQ(json::parse(job.model.own_keys),
            (json{{"blocks", 4}, {"shape", {{"wide", {1, 2.5}}}}, {"contxt", "anything"}}));
  const json resolved = to_json(job);
  EXPECT_EQ(resolved["model"]["blocks"], 4);
  EXPECT_EQ(resolved["model"]["path"], "/jobs/libs/mine.so");
  EXPECT_EQ(to_json(parse_job(resolved.dump(), "/elsewhere/job.json")), resolved);
}

TEST(Job, KnownKeysOfAPluginAreChecked) {
  EXPECT_THAT(refusal_with("/model", {{"kind", "plugin"}}),
              HasSubstr("model.path: expected this key, found none"));
  EXPECT_THAT(refusal_with("/model", {{"kind", "plugin"}, {"pth", "a.so"}}),
              HasSubstr("model.pth: unknown key of plugin; did you mean model.path?"));
  EXPECT_THAT(refusal_with("/model", {{"kind", "plugin"}, {"path", "a.so"}, {"context", 0}}),
              HasSubstr("model.context: expected an integer from 1"));
  EXPECT_THAT(refusal_with("/model", {{"kind", "plugin"}, {"path", "a.so"}, {"vocabulary", "x"}}),
              HasSubstr("model.vocabulary: expected \"auto\" or a number"));
}

TEST(Job, NamesOfValuesAreTheFiles) {
  EXPECT_EQ(name_of(ModelKind::lenet), "lenet");
  EXPECT_EQ(name_of(DataFormat::synthetic), "synthetic");
  EXPECT_EQ(name_of(DataFormat::text), "text");
  EXPECT_EQ(name_of(OptimizerKind::adamw), "adamw");
  EXPECT_EQ(name_of(Schedule::linear), "linear");
  EXPECT_EQ(name_of(Precision::fp32), "fp32");
  EXPECT_EQ(name_of(BatchNorm::synchronised), "synchronised");
  EXPECT_EQ(name_of(Backend::automatic), "auto");
  EXPECT_EQ(name_of(WirePrecision::fp32), "fp32");
  EXPECT_EQ(name_of(DeviceChoice::automatic), "auto");
}

TEST(Job, UnknownKeyNamesTheNearest) {
  EXPECT_EQ(refusal_with("/data/bach", 5),
            "/jobs/small.json: data.bach: unknown key; did you mean data.batch?");
  EXPECT_EQ(refusal_with("/optimizer/learning_rate/warmup", 5),
            "/jobs/small.json: optimizer.learning_rate.warmup: unknown key; the keys here are "
            "schedule, peak, final, warmup_steps, decay_steps, milestones, factor");
  EXPECT_EQ(refusal_with("/Epochs", 5),
            "/jobs/small.json: Epochs: unknown key; did you mean epochs?");
  EXPECT_EQ(refusal_with("/model/depth", 8),
            "/jobs/small.json: model.depth: unknown key of mlp; the keys here are kind, hidden, "
            "classes, weights");
}

TEST(Job, MistypedRequiredKeyIsNamedBeforeAllElse) {
  json job = small_job();
  job["model"] = {{"knd", "resnet"}, {"depth", 8}};
  EXPECT_EQ(refusal(job.dump()),
            "/jobs/small.json: model.knd: unknown key; did you mean model.kind?");
  job["model"] = json::object();
  EXPECT_EQ(refusal(job.dump()), "/jobs/small.json: model.kind: expected this key, found none");
}

TEST(Job, UnknownValueNamesTheNearest) {
  EXPECT_EQ(refusal_with("/model/kind", "lenett"),
            "/jobs/small.json: model.kind: expected one of mlp, lenet, resnet, gpt2, llama, dlrm, "
            "yolov8, plugin, found \"lenett\"; did you mean \"lenet\"?");
  EXPECT_THAT(refusal_with("/device", 3),
              HasSubstr("device: expected one of auto, cpu, cuda, found 3"));
}

TEST(Job, TheStemDecidesDepthAndWidthWhereTheFileDoesNot) {
  const auto model_of = [](const json& model) {
    json job = small_job();
    job["model"] = model;
    const Job resolved = read(job);
    EXPECT_EQ(read(to_json(resolved)).model.width, resolved.model.width);
    return resolved.model;
  };
  const ModelSpec large = model_of({{"kind", "resnet"}, {"stem", "imagenet"}});
  EXPECT_EQ(large.depth, 50);
  EXPECT_EQ(large.width, 64);
  const ModelSpec narrow =
      model_of({{"kind", "resnet"}, {"stem", "imagenet"}, {"depth", 101}, {"width", 8}});
  EXPECT_EQ(narrow.depth, 101);
  EXPECT_EQ(narrow.width, 8);
  const ModelSpec small = model_of({{"kind", "resnet"}});
  EXPECT_EQ(small.depth, 8);
  EXPECT_EQ(small.width, 16);
}

TEST(Job, UnbuiltPartsAreRefusedByName) {
  EXPECT_EQ(refusal_with("/precision", "fp16"),
            "/jobs/small.json: precision: \"fp16\" is not built yet; this version has fp32, bf16");
  const std::vector<std::pair<std::string, json>> unbuilt = {
      {"/model/kind", "llama"},
      {"/data/train/format", "cifar"},
      {"/device", "cuda"},
      {"/parallel/backend", "nccl"},
      {"/parallel/wire_precision", "bf16"},
      {"/parallel/shard_optimizer", false},
      {"/profile", {{"wait", 2}}},
      {"/metrics/prometheus", "127.0.0.1:9400"},
      {"/data/transforms", {{{"kind", "flip"}, {"direction", "vertical"}}}},
  };
  for (const auto& [pointer, value] : unbuilt) {
    EXPECT_THAT(refusal_with(pointer, value), HasSubstr("not built yet")) << pointer;
  }
}

TEST(Job, WrongTypesAndRangesSayWhatWasExpected) {
  struct Case {
    std::string pointer;
    json value;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"/data/batch", 0, "data.batch: expected an integer from 1 to 1000000000, found 0"},
      {"/data/batch", 1.5, "data.batch: expected an integer from 1 to 1000000000, found 1.5"},
      {"/data/batch", "64", "data.batch: expected an integer from 1 to 1000000000, found \"64\""},
      {"/seed", -1, "seed: expected an integer from 0 to 2^64-1, found -1"},
      {"/optimizer/learning_rate/peak", 0, "expected a number above 0, found 0"},
      {"/optimizer/momentum", 1, "expected a number from 0 to below 1, found 1"},
      {"/optimizer/betas", {0.9}, "optimizer.betas: expected a list of 2, found a list of 1"},
      {"/optimizer/betas", {0.9, 1.0}, "optimizer.betas[1]: expected a number from 0 to below 1"},
      {"/optimizer/nesterov", 1, "optimizer.nesterov: expected true or false, found 1"},
      {"/optimizer", 3, "optimizer: expected an object, found 3"},
      {"/parallel/bucket_mib", "big", "expected \"auto\" or a number above 0, found \"big\""},
      {"/parallel/bucket_mib", nullptr, "expected \"auto\" or a number above 0, found null"},
      {"/parallel/deadline_s", 0, "parallel.deadline_s: expected a number above 0, found 0"},
      {"/model/hidden", {4, 0}, "model.hidden[1]: expected an integer from 1 to 1000000, found 0"},
      {"/model", {{"kind", "resnet"}, {"depth", 9}}, "model.depth: expected 6n+2"},
      {"/model", {{"kind", "resnet"}, {"depth", 62}}, "model.depth: expected 6n+2"},
      {"/model", {{"kind", "resnet"}, {"depth", 158}}, "model.depth: expected an integer from 8"},
      {"/model",
       {{"kind", "resnet"}, {"stem", "imagenet"}, {"depth", 20}},
       "model.depth: expected 18, 34, 50, 101 or 152 for the ImageNet stem, found 20"},
      {"/name", "a/b", "name: expected at most 100 letters, digits and . _ -"},
      {"/name", "..", "name: expected at most 100 letters"},
      {"/epochs", nullptr, "expected exactly one of epochs and steps, found neither"},
      {"/steps", 5, "expected exactly one of epochs and steps, found both"},
      {"/data/batch_per_worker", 5, "exactly one of data.batch and data.batch_per_worker"},
      {"/data/train/samples", 0, "data.train.samples: expected an integer from 1"},
      {"/data/train", {{"format", "text"}}, "data.train.path: expected this key, found none"},
      {"/data/train",
       {{"format", "text"}, {"path", "a"}, {"vocabulary", "words"}},
       "data.train.vocabulary: expected one of characters, bytes, found \"words\""},
      {"/data/train",
       {{"format", "tokens"}, {"path", "a"}, {"vocabulary", "bytes"}},
       "data.train.vocabulary: unknown key of tokens"},
      {"/data/train",
       {{"format", "tokens"}, {"path", "a"}, {"to", 1.1}},
       "data.train.to: expected a number from 0 to 1, found 1.1"},
      {"/data/train",
       {{"format", "tokens"}, {"path", "a"}, {"from", 0.9}, {"to", 0.9}},
       "data.train.from: expected less than 0.9 (data.train.to), found 0.9"},
      {"/data/eval",
       {{"format", "text"}, {"path", "a"}, {"from", 1}},
       "data.eval.from: expected less than 1 (data.eval.to), found 1"},
      {"/data/transforms", {{{"kind", "normalise"}, {"mean", {0.5}}}}, "std: expected this key"},
      {"/data/transforms",
       {{{"kind", "normalise"}, {"mean", {0.5}}, {"std", {0.0}}}},
       "data.transforms[0].std[0]: expected a number from 1e-06"},
      {"/data/transforms",
       {{{"kind", "normalise"}, {"mean", {0.5}}, {"std", {1}}}, {{"kind", "flip"}}},
       "data.transforms[0]: normalise must be the last transform"},
      {"/optimizer/learning_rate/schedule", "step", "milestones: expected at least one step"},
      {"/optimizer/learning_rate/milestones", {5, 5}, "milestones[1]: expected a step after 5"},
      {"/resume", "", "resume: expected a text in quotes"},
  };
  for (const Case& wrong : cases) {
    EXPECT_THAT(refusal_with(wrong.pointer, wrong.value), HasSubstr(wrong.message));
  }
  json job = small_job();
  job["optimizer"]["nesterov"] = true;
  job["optimizer"]["momentum"] = 0;
  EXPECT_THAT(refusal(job.dump()), HasSubstr("optimizer.nesterov: needs optimizer.momentum"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("small.json: expected an object, found a list of 1"));
}

TEST(Job, NumbersThatAreNotFiniteAreRefused) {
  EXPECT_THAT(refusal(R"({"optimizer": {"learning_rate": {"peak": 1e999}}})"),
              HasSubstr("small.json"));
  EXPECT_THAT(refusal(R"({"seed": NaN})"), StartsWith("/jobs/small.json:1:10: syntax error"));
}

TEST(Job, LongValuesAreShortenedInMessages) {
  const std::string message = refusal_with("/device", std::string(100000, 'x'));
  EXPECT_LT(message.size(), 200U);
  EXPECT_LT(refusal_with("/" + std::string(100000, 'k'), 1).size(), 600U);
}

TEST(Job, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_THAT(refusal("{\n  \"seed\": 1,\n  \"name\" \"x\"\n}"),
              StartsWith("/jobs/small.json:3:12: syntax error"));
  EXPECT_THAT(refusal(""), StartsWith("/jobs/small.json:1:1: "));
  EXPECT_THAT(refusal("{\"seed\": 1} x"), StartsWith("/jobs/small.json:1:13: syntax error"));
  EXPECT_THAT(refusal("{ // never closed"), StartsWith("/jobs/small.json:1:"));
}

TEST(Job, DuplicateKeysAreRefused) {
  EXPECT_EQ(refusal(R"({"data": {"batch": 1, "threads": 2, "batch": 3}})"),
            "/jobs/small.json: data.batch: stands twice; remove one");
}

TEST(Job, DeepNestingIsRefused) {
  EXPECT_THAT(refusal(std::string(200000, '[')), HasSubstr("nested more than"));
}

class JobFile : public ::testing::Test {
 protected:
  // Tests of this file run side by side, each in a process of its own.
  JobFile()
      : folder_(std::filesystem::path(::testing::TempDir()) / fmt::format("job-{}", ::getpid())),
        path_(folder_ / "job file test.json") {
    std::filesystem::create_directory(folder_);
    std::ofstream(path_) << small_job().dump();
  }
  ~JobFile() override { std::filesystem::remove_all(folder_); }

  std::string refusal_of(const std::string& setting) const {
    try {
      static_cast<void>(load_job(path_, {setting}));
    } catch (const JobError& error) {
      return error.what();
    }
    ADD_FAILURE() << "accepted: " << setting;
    return {};
  }

  std::filesystem::path folder_, path_;
};

TEST_F(JobFile, NameOfTheFileIsMadeFitForAFolder) {
  EXPECT_EQ(load_job(path_).name, "job-file-test");
}

TEST_F(JobFile, OverridesAreJsonOrText) {
  const Job job =
      load_job(path_, {"data.batch=64", "parallel.backend=host", "optimizer.betas=[0.5, 0.6]",
                       "checkpoint.keep=9", "name=other", "optimizer.nesterov=true",
                       "device=\"cpu\"", "data.eval={\"format\": \"synthetic\", \"samples\": 5}"});
  EXPECT_EQ(job.data.batch, 64);
  EXPECT_EQ(job.parallel.backend, Backend::host);
  EXPECT_EQ(job.optimizer.betas[0], 0.5);
  EXPECT_EQ(job.checkpoint->keep, 9);
  EXPECT_EQ(job.checkpoint->every_steps, 500);
  EXPECT_EQ(job.name, "other");
  EXPECT_TRUE(job.optimizer.nesterov);
  EXPECT_EQ(job.device, DeviceChoice::cpu);
  EXPECT_EQ(job.data.eval->samples, 5);
}

TEST_F(JobFile, OverrideOfOneOfAPairReplacesTheOther) {
  const Job job = load_job(path_, {"steps=20", "data.batch_per_worker=5"});
  EXPECT_EQ(job.steps, 20);
  EXPECT_FALSE(job.epochs);
  EXPECT_EQ(job.data.batch_per_worker, 5);
  EXPECT_FALSE(job.data.batch);
}

TEST_F(JobFile, WrongOverridesAreRefused) {
  EXPECT_THAT(refusal_of("data.bath=1"), HasSubstr("did you mean data.batch?"));
  EXPECT_THAT(refusal_of("data.batch"), HasSubstr("expected KEY=VALUE"));
  EXPECT_THAT(refusal_of("=1"), HasSubstr("expected KEY=VALUE"));
  EXPECT_THAT(refusal_of("data..batch=1"), HasSubstr("expected KEY=VALUE"));
  EXPECT_THAT(refusal_of("data.batch.x=1"), HasSubstr("data.batch is 10; it has no keys"));
  EXPECT_THAT(refusal_of("name=\xff\xfe"), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal_of("data.train={\"format\": 1, \"format\": 2}"), HasSubstr("stands twice"));
}

TEST_F(JobFile, MissingFileIsAJobError) {
  EXPECT_THROW(static_cast<void>(load_job("/nowhere/job.json")), JobError);
  EXPECT_THROW(static_cast<void>(load_job(::testing::TempDir())), JobError);
}

// Whatever happens to a file's bytes, it is read or refused with a JobError.
TEST(Job, DamagedFilesAreReadOrRefused) {
  const std::string whole = text_of(kSource / "docs/examples/fashion-resnet8.json");
  std::mt19937 random(7);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  const std::string_view spice = "{}[]\",:/*-0019.eE\n\\utnx\xff";
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    const std::size_t changes = 1 + below(4);
    for (std::size_t change = 0; change < changes; ++change) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = spice[below(spice.size())];
          break;
        case 1:
          text.erase(at, 1 + below(20));
          break;
        case 2:
          text.insert(at, 1, spice[below(spice.size())]);
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), below(40)));
          break;
        default:
          text[at] = static_cast<char>(below(256));
          break;
      }
      if (text.empty()) text.push_back(spice[0]);
    }
    try {
      static_cast<void>(to_json(parse_job(text, "/jobs/damaged.json")));
    } catch (const JobError& error) {
      ++refused;
      EXPECT_THAT(error.what(), StartsWith("/jobs/damaged.json"));
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Job, SchemaFileIsTheReadersTable) {
  const json file = json::parse(text_of(kSource / "docs/job.schema.json"));
  EXPECT_EQ(file, job_schema()) << "docs/job.schema.json should be:\n" << job_schema().dump(2);
}

void collect_keys(const json& schema, std::set<std::string>& keys) {
  if (schema.is_array()) {
    for (const json& part : schema) collect_keys(part, keys);
  }
  if (!schema.is_object()) return;
  for (const auto& [name, part] : schema.items()) {
    if (name == "properties") {
      for (const auto& [key, value] : part.items()) keys.insert(key);
    }
    collect_keys(part, keys);
  }
}

TEST(Job, PageNamesEveryKey) {
  const std::string page = text_of(kSource / "docs/job-file.md");
  std::set<std::string> keys;
  collect_keys(job_schema(), keys);
  EXPECT_GT(keys.size(), 50U);
  for (const std::string& key : keys) EXPECT_THAT(page, HasSubstr("`" + key + "`"));
}

TEST(Nearest, FindsSlipsOfTheHand) {
  const std::vector<std::string_view> names = {"batch", "batch_per_worker", "eval", "train"};
  EXPECT_EQ(nearest("bacth", names), "batch");
  EXPECT_EQ(nearest("Batch", names), "batch");
  EXPECT_EQ(nearest("batchperworker", names), "batch_per_worker");
  EXPECT_EQ(nearest("vale", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest("batch", {}), std::nullopt);
}

}  // namespace
}  // namespace lockstep::runtime
