// Checkpoints of a run: folders `step-00000500` that are there whole or not at all.
//
//   checkpoints/step-00000500/   model.safetensors  optimizer.safetensors  state.json  plan.json
//   manifest.json
//
// A save writes everything under a temporary name (`.step-00000500.1f00ba12.tmp`), synchronises
// every file and the folder, renames it, and synchronises `checkpoints`. So a machine that stops at
// any moment leaves the last good checkpoint as it was. manifest.json holds the size and the
// CRC-32C of each file, the step, and the generation (the attempt of the job that wrote it), and
// its own checksum; a checkpoint is good if all of them hold.
//
// A save that fails is a value, not an exception: training goes on, says so, and has the last good
// one to return to.
//
// Thread rule: one thread a store at a time; one process a folder at a time saves (rank 0 of the
// newest generation).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/device/visibility.h"
#include "runtime/checkpoint/file_system.h"
#include "runtime/checkpoint/safetensors.h"

namespace lockstep::runtime::checkpoint {

// A checkpoint that cannot be used: the message says which, which file of it, and why.
class LOCKSTEP_API CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CheckpointContent {
  std::vector<TensorView> model;  // parameters and statistics, under the framework's usual names
  std::vector<TensorView> optimizer;  // momentum and moments
  nlohmann::json state;               // step, loader position, seeds, loss scale, world
  std::string plan_json;              // the plan that a resume has to follow
};

// A checkpoint in memory; `content`'s views look into the two buffers, which moving keeps in place.
struct LoadedCheckpoint {
  LoadedCheckpoint() = default;
  LoadedCheckpoint(LoadedCheckpoint&&) = default;
  LoadedCheckpoint& operator=(LoadedCheckpoint&&) = default;
  LoadedCheckpoint(const LoadedCheckpoint&) = delete;
  LoadedCheckpoint& operator=(const LoadedCheckpoint&) = delete;

  std::int64_t step = 0;
  std::uint64_t generation = 0;
  CheckpointContent content;
  std::vector<std::byte> model_file;
  std::vector<std::byte> optimizer_file;
};

struct CheckpointInfo {
  std::filesystem::path path;
  std::int64_t step = 0;
  std::uint64_t generation = 0;
  std::uint64_t bytes = 0;  // of all its files but the manifest
};

struct SaveResult {
  std::optional<CheckpointInfo> saved;  // nothing: not saved, and `problem` says why
  std::string problem;                  // one sentence for the log
  std::vector<std::string>
      messages;  // what else a person should know: an old one that could not be removed
  [[nodiscard]] bool ok() const { return saved.has_value(); }
};

struct FoundCheckpoint {
  std::optional<CheckpointInfo> newest;  // nothing: there is no good one
  std::vector<std::string> messages;     // one for each damaged checkpoint that was passed over
};

// Whether a search may clean up after a save that did not end. `keep` for a folder that another run
// may be writing.
enum class Leftovers { remove, keep };

// Reads a checkpoint from any folder, as `resume` with a path does. Every checksum is verified.
// Throws CheckpointError.
[[nodiscard]] LoadedCheckpoint load_checkpoint(FileSystem& files,
                                               const std::filesystem::path& path);

class CheckpointStore {
 public:
  struct Options {
    std::filesystem::path
        directory;         // RUN/checkpoints; made by the first save, its parent must be there
    std::size_t keep = 3;  // good checkpoints that a save leaves, at least 1
    std::uint64_t generation =
        0;  // LOCKSTEP_GENERATION; a save is refused if a newer one has saved here
  };

  // REQUIRES: `files` outlives the store.
  CheckpointStore(FileSystem& files, Options options);

  // Saves, then removes what is older than the `keep` newest good checkpoints, never the one just
  // saved. One of the same step is replaced, and stays if the save fails. Does not throw for
  // anything the file system does. Cost: the content is written once, straight from its views, with
  // no copy; memory for the state and plan only.
  [[nodiscard]] SaveResult save(std::int64_t step, const CheckpointContent& content);

  // Walks back from the newest to the first one whose checksums hold. Cost: each that is looked at
  // is read once.
  [[nodiscard]] FoundCheckpoint newest_good(Leftovers leftovers = Leftovers::remove);

  // As load_checkpoint.
  [[nodiscard]] LoadedCheckpoint load(const std::filesystem::path& path);

 private:
  void commit(std::int64_t step, const CheckpointContent& content, SaveResult& result);
  void refuse_older_generation();
  void remove_old(std::int64_t just_saved, std::vector<std::string>& messages);
  void recover(std::vector<std::string>& messages);
  [[nodiscard]] bool is_good(std::int64_t step, std::vector<std::string>& messages);

  FileSystem& files_;
  Options options_;
  bool prepared_ = false;              // the directory is there, durably
  std::map<std::int64_t, bool> good_;  // what this store has saved or looked at, so not read again
};

}  // namespace lockstep::runtime::checkpoint
