#include "runtime/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

namespace lockstep::runtime {
namespace {

namespace fs = std::filesystem;
using checkpoint::Leftovers;

// A run's file as JSON; null where it is not there or no JSON, which an unfinished run may leave.
nlohmann::json read_json(const fs::path& path) {
  std::ifstream file(path);
  return file ? nlohmann::json::parse(file, nullptr, false) : nlohmann::json();
}

// Whether two resolved jobs train the same thing.
bool same_job(nlohmann::json a, nlohmann::json b) {
  for (nlohmann::json* job : {&a, &b}) {
    if (!job->is_object()) return false;
    for (const char* key : {"resume", "checkpoint", "log_every_steps", "metrics"}) job->erase(key);
  }
  return a == b;
}

bool take_newest(const fs::path& checkpoints, Leftovers leftovers, FoundResume& found) {
  if (!fs::is_directory(checkpoints)) return false;
  checkpoint::PosixFileSystem files;
  checkpoint::CheckpointStore store(files, {.directory = checkpoints});
  checkpoint::FoundCheckpoint newest = store.newest_good(leftovers);
  std::move(newest.messages.begin(), newest.messages.end(), std::back_inserter(found.messages));
  if (!newest.newest) return false;
  found.path = newest.newest->path;
  found.checkpoint = store.load(found.path);
  return true;
}

struct EarlierRun {
  double started = 0;  // 0 where it did not get that far
  fs::path path;
  nlohmann::json summary;
};

// Newest first. A run's id need not tell: it may be a batch system's, or of the same second.
std::vector<EarlierRun> earlier_runs(const metrics::RunFolder& folder) {
  std::vector<EarlierRun> runs;
  for (const auto& entry : fs::directory_iterator(folder.path().parent_path())) {
    if (!entry.is_directory() || entry.is_symlink() ||
        entry.path().filename() == folder.path().filename()) {
      continue;
    }
    EarlierRun run{.path = entry.path(), .summary = read_json(entry.path() / "summary.json")};
    if (!run.summary.is_object()) run.summary = nlohmann::json::object();
    const nlohmann::json started = run.summary.value("started", nlohmann::json());
    if (started.is_number()) run.started = started;
    runs.push_back(std::move(run));
  }
  std::ranges::sort(runs, [](const EarlierRun& one, const EarlierRun& other) {
    return std::tie(one.started, one.path) > std::tie(other.started, other.path);
  });
  return runs;
}

}  // namespace

FoundResume find_resume(const Job& job, const metrics::RunFolder& folder) {
  FoundResume found;
  if (take_newest(folder.checkpoints(), Leftovers::remove, found) || job.resume == "never")
    return found;
  if (job.resume != "auto") {
    checkpoint::PosixFileSystem files;
    found.path = job.resume;
    found.checkpoint = checkpoint::load_checkpoint(files, found.path);
    return found;
  }
  const nlohmann::json mine = to_json(job);
  for (const EarlierRun& run : earlier_runs(folder)) {
    if (!same_job(mine, read_json(run.path / "job.json"))) continue;
    // What was begun before that has been gone on from, or is of no interest any more.
    if (run.summary.value("status", nlohmann::json()) == "done") break;
    if (take_newest(run.path / "checkpoints", Leftovers::keep, found)) return found;
  }
  found.messages.push_back(
      fmt::format("resume: no unfinished run of \"{}\" with this job has a checkpoint; "
                  "starting at step 0",
                  job.name));
  return found;
}

}  // namespace lockstep::runtime
