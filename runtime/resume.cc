#include "runtime/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

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

std::vector<fs::path> earlier_runs(const metrics::RunFolder& folder) {
  std::vector<fs::path> runs;
  for (const auto& entry : fs::directory_iterator(folder.path().parent_path())) {
    if (entry.is_directory() && !entry.is_symlink() &&
        entry.path().filename() != folder.path().filename()) {
      runs.push_back(entry.path());
    }
  }
  std::sort(runs.rbegin(), runs.rend());  // run ids begin with their time
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
  for (const fs::path& run : earlier_runs(folder)) {
    const nlohmann::json summary = read_json(run / "summary.json");
    if (!same_job(mine, read_json(run / "job.json"))) continue;
    // What was begun before that has been gone on from, or is of no interest any more.
    if (summary.is_object() && summary.value("status", nlohmann::json()) == "done") break;
    if (take_newest(run / "checkpoints", Leftovers::keep, found)) return found;
  }
  found.messages.push_back(
      fmt::format("resume: no unfinished run of \"{}\" with this job has a checkpoint; "
                  "starting at step 0",
                  job.name));
  return found;
}

}  // namespace lockstep::runtime
