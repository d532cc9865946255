#include "tests/runtime/train_site.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace lockstep::runtime {

using launcher::contents;
using launcher::Launched;

Json lenet_job() {
  return Json::parse(R"({
    "name": "lenet",
    "model": {"kind": "lenet"},
    "data": {"train": {"format": "synthetic", "samples": 960}, "batch": 96, "threads": 1},
    "optimizer": {"kind": "adamw", "learning_rate": {"peak": 0.001}},
    "steps": 12, "log_every_steps": 1, "checkpoint": {"every_steps": 4}})");
}

Json resnet_job() {
  return Json::parse(R"({
    "name": "resnet",
    "model": {"kind": "resnet", "depth": 8},
    "data": {"train": {"format": "synthetic", "samples": 160}, "batch": 16, "threads": 1,
             "transforms": [{"kind": "flip"}, {"kind": "crop", "padding": 2}]},
    "optimizer": {"kind": "sgd", "learning_rate": {"peak": 0.05}},
    "steps": 12, "log_every_steps": 1, "checkpoint": {"every_steps": 4}})");
}

Json gpt_job() {
  return Json::parse(R"({
    "name": "gpt",
    "model": {"kind": "gpt2", "layers": 2, "heads": 2, "width": 16, "context": 16, "vocabulary": 20,
              "dropout": 0.1},
    "data": {"train": {"format": "synthetic", "samples": 120}, "batch": 12, "threads": 1},
    "optimizer": {"kind": "adamw", "learning_rate": {"peak": 0.003}, "clip_norm": 1.0},
    "steps": 12, "log_every_steps": 1, "checkpoint": {"every_steps": 4}})");
}

std::string TrainSite::write(const Json& job, const std::string& file) const {
  const std::filesystem::path path = folder() / file;
  std::ofstream(path) << job.dump(2) << '\n';
  return path;
}

Launched::Setup TrainSite::train(const Json& job, const std::vector<std::string>& more) const {
  Launched::Setup setup{.args = {"train", "--runs", runs(), write(job)},
                        .environment = {"OMP_NUM_THREADS=1"}};
  setup.args.insert(setup.args.end(), more.begin(), more.end());
  return setup;
}

Launched::Setup TrainSite::launch(int workers, const Json& job,
                                  const std::vector<std::string>& more) const {
  Launched::Setup setup{
      .args = {"launch", "-n", std::to_string(workers), "--runs", runs(), write(job)},
      .environment = {"OMP_NUM_THREADS=1"}};
  setup.args.insert(setup.args.end(), more.begin(), more.end());
  return setup;
}

std::filesystem::path TrainSite::done(int workers, const Json& job) const {
  Launched run(workers == 1 ? train(job) : launch(workers, job));
  EXPECT_EQ(run.wait(), 0) << run.out() << run.err();
  return latest(job.at("name"));
}

std::filesystem::path TrainSite::latest(const std::string& name) const {
  return std::filesystem::canonical(runs() / name / "latest");
}

Json summary(const std::filesystem::path& run) {
  return Json::parse(contents(run / "summary.json"));
}

std::vector<Json> metrics(const std::filesystem::path& run) {
  std::vector<Json> records;
  std::istringstream lines(contents(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) records.push_back(Json::parse(line));
  return records;
}

std::vector<double> losses(const std::filesystem::path& run) {
  std::vector<double> found;
  for (const Json& record : metrics(run)) {
    if (record.contains("loss")) found.push_back(record.at("loss"));
  }
  return found;
}

std::filesystem::path saved_at(const std::filesystem::path& run, std::int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, 8 - digits.size(), '0');
  return run / "checkpoints" / ("step-" + digits);
}

std::string difference(const std::filesystem::path& one, const std::filesystem::path& other) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const std::string bytes = contents(one / file);
    if (bytes.empty()) return (one / file).string() + " is not there";
    if (bytes != contents(other / file)) return file + (" of " + other.string()) + " differs";
  }
  return {};
}

pid_t worker_of(const Launched& job, int rank) {
  const std::string variable = '\0' + ("LOCKSTEP_RANK=" + std::to_string(rank)) + '\0';
  for (const pid_t pid : job.processes()) {
    const std::string process = "/proc/" + std::to_string(pid);
    if (contents(process + "/environ").find(variable) != std::string::npos) return pid;
  }
  return 0;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace lockstep::runtime
