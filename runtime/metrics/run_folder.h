// The folder of one run, `runs/NAME/ID/`, that every other tool reads. Its contents are listed in
// docs/metrics.md.
//
// Thread rule: none of it keeps state; one process a run (rank 0) writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/device/visibility.h"

namespace lockstep::runtime::metrics {

class LOCKSTEP_API RunFolderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "20261130-181502-3fa9": UTC and four hex digits.
[[nodiscard]] std::string run_id(std::chrono::system_clock::time_point now, std::uint16_t digits);

// Whether a run may be called so: one component of a path, neither hidden nor "latest", of at most
// 200 bytes.
[[nodiscard]] LOCKSTEP_API bool is_run_name(std::string_view name);

class LOCKSTEP_API RunFolder {
 public:
  // The folder that the launcher has made, LOCKSTEP_RUN; nothing if that is not set.
  // Throws RunFolderError if it is set and is no folder.
  [[nodiscard]] static std::optional<RunFolder> given();

  // Makes `runs`/`name`/ID, mode 0700, and points `runs`/`name`/latest to it. `id` is the batch
  // system's job id, whose folder may be there already; without one a new id is drawn. Throws
  // RunFolderError: a name that is no file name, a folder that cannot be made.
  [[nodiscard]] static RunFolder create(const std::filesystem::path& runs, std::string_view name,
                                        const std::optional<std::string>& id = std::nullopt);

  // A folder that is there, as a tool is given it. Throws RunFolderError.
  [[nodiscard]] static RunFolder open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string id() const { return path_.filename().string(); }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  [[nodiscard]] std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }

  // Replaces a small file of the folder (summary.json, plan.json, job.json): a reader sees the old
  // text or the new. Throws checkpoint::FileSystemError.
  void write(std::string_view file, std::string_view text) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace lockstep::runtime::metrics
