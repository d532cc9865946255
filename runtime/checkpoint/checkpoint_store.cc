#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/crc32c.h"
#include "runtime/checkpoint/manifest.h"

namespace lockstep::runtime::checkpoint {
namespace {

// Passes bytes on and keeps count of them, so that nothing is read again to be described.
class CountedFile final : public WritableFile {
 public:
  explicit CountedFile(WritableFile& file) : file_(file) {}

  void write(std::span<const std::byte> bytes) override {
    file_.write(bytes);
    size_ += bytes.size();
    crc_ = crc32c(bytes, crc_);
  }
  void sync() override { file_.sync(); }

  [[nodiscard]] ManifestEntry entry(std::string name) const {
    return {std::move(name), size_, crc_};
  }

 private:
  WritableFile& file_;
  std::uint64_t size_ = 0;
  std::uint32_t crc_ = 0;
};

ManifestEntry write_file(FileSystem& files, const std::filesystem::path& path,
                         const std::function<void(WritableFile&)>& fill) {
  const auto file = files.create_file(path);
  CountedFile counted(*file);
  fill(counted);
  counted.sync();
  return counted.entry(path.filename().string());
}

ManifestEntry write_text(FileSystem& files, const std::filesystem::path& path,
                         std::string_view text) {
  return write_file(files, path, [&](WritableFile& file) {
    if (!text.empty()) file.write(std::as_bytes(std::span(text)));
  });
}

Manifest write_content(FileSystem& files, const std::filesystem::path& folder, Manifest manifest,
                       const CheckpointContent& content) {
  manifest.files = {
      write_file(files, folder / kModelFile,
                 [&](WritableFile& file) {
                   write_safetensors(file, content.model, {{"format", "pt"}});
                 }),
      write_file(files, folder / kOptimizerFile,
                 [&](WritableFile& file) { write_safetensors(file, content.optimizer, {}); }),
      write_text(files, folder / kStateFile, content.state.dump(2) + "\n"),
      write_text(files, folder / kPlanFile, content.plan_json),
  };
  (void)write_text(files, folder / kManifestFile, to_text(manifest));
  return manifest;
}

void remove_folder(FileSystem& files, const std::filesystem::path& path) {
  for (const std::string& name : files.list(path)) files.remove(path / name);
  files.remove(path);
}

// Newest first.
std::vector<std::int64_t> steps_in(FileSystem& files, const std::filesystem::path& directory) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : files.list(directory)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

}  // namespace

CheckpointStore::CheckpointStore(FileSystem& files, Options options)
    : files_(files), options_(std::move(options)) {
  if (options_.keep == 0) {
    throw std::invalid_argument("a checkpoint store must keep at least 1 checkpoint, not 0");
  }
}

SaveResult CheckpointStore::save(std::int64_t step, const CheckpointContent& content) {
  SaveResult result;
  try {
    commit(step, content, result);
  } catch (const std::exception& error) {
    result.saved.reset();
    result.problem = fmt::format("the checkpoint of step {} was not saved: {}", step, error.what());
    return result;
  }
  remove_old(step, result.messages);
  return result;
}

void CheckpointStore::commit(std::int64_t step, const CheckpointContent& content,
                             SaveResult& result) {
  const auto& directory = options_.directory;
  if (!prepared_) {
    files_.create_directory(directory);
    files_.sync_directory(directory.parent_path());
    prepared_ = true;
  }
  refuse_older_generation();
  recover(result.messages);

  const auto target = directory / step_name(step);
  const auto temporary = directory / hidden_name(step, Hidden::temporary);
  const auto replaced = directory / hidden_name(step, Hidden::replaced);
  bool set_aside = false;
  Manifest manifest{step, options_.generation, {}};
  try {
    files_.create_directory(temporary);
    manifest = write_content(files_, temporary, std::move(manifest), content);
    files_.sync_directory(temporary);
    // Asked again: writing may have taken minutes, in which a newer attempt has begun.
    refuse_older_generation();
    const auto steps = steps_in(files_, directory);
    if (std::find(steps.begin(), steps.end(), step) != steps.end()) {
      files_.rename(target, replaced);
      set_aside = true;
    }
    files_.rename(temporary, target);
  } catch (const std::exception&) {
    const auto undo = [](const auto& operation) {
      try {
        operation();
      } catch (const FileSystemError&) {
        // The first error is the one to tell; the next save or search tries again.
      }
    };
    if (set_aside) undo([&] { files_.rename(replaced, target); });
    undo([&] { remove_folder(files_, temporary); });
    throw;
  }
  good_[step] = true;
  // Until the folder is synchronised the old one may come back, so it is not removed before.
  files_.sync_directory(directory);
  result.saved = CheckpointInfo{target, step, options_.generation, manifest.bytes()};
  if (set_aside) {
    try {
      remove_folder(files_, replaced);
    } catch (const FileSystemError& error) {
      result.messages.push_back(fmt::format("a replaced checkpoint stays: {}", error.what()));
    }
  }
}

void CheckpointStore::refuse_older_generation() {
  for (const std::int64_t step : steps_in(files_, options_.directory)) {
    const auto path = options_.directory / step_name(step);
    std::uint64_t generation = 0;
    try {
      generation = read_manifest(files_, path).generation;
    } catch (const CheckpointError&) {
      continue;  // a damaged one says nothing about its writer
    }
    if (generation > options_.generation) {
      throw CheckpointError(fmt::format(
          "attempt {} of this job has saved {}, so attempt {}, which this process belongs to, is "
          "over",
          generation, path.string(), options_.generation));
    }
  }
}

void CheckpointStore::recover(std::vector<std::string>& messages) {
  const auto& directory = options_.directory;
  const auto steps = steps_in(files_, directory);
  for (const std::string& name : files_.list(directory)) {
    const auto hidden = hidden_of(name);
    if (!hidden) continue;
    const bool is_replaced = hidden->kind == Hidden::temporary ||
                             std::find(steps.begin(), steps.end(), hidden->step) != steps.end();
    try {
      if (is_replaced) {
        // What replaced it must be there for good first.
        files_.sync_directory(directory);
        remove_folder(files_, directory / name);
      } else {
        files_.rename(directory / name, directory / step_name(hidden->step));
        files_.sync_directory(directory);
      }
    } catch (const FileSystemError& error) {
      messages.push_back(fmt::format("what a save has left behind stays: {}", error.what()));
    }
  }
}

bool CheckpointStore::is_good(std::int64_t step, std::vector<std::string>& messages) {
  if (const auto known = good_.find(step); known != good_.end()) return known->second;
  bool good = false;
  try {
    (void)verify_checkpoint(files_, options_.directory / step_name(step));
    good = true;
  } catch (const CheckpointError& error) {
    messages.emplace_back(error.what());
  }
  good_[step] = good;
  return good;
}

void CheckpointStore::remove_old(std::int64_t just_saved, std::vector<std::string>& messages) {
  std::size_t good = 0;
  try {
    for (const std::int64_t step : steps_in(files_, options_.directory)) {
      if (good < options_.keep) {
        if (is_good(step, messages)) ++good;
        continue;
      }
      if (step == just_saved) continue;
      // Renamed first, so that one that is half removed is never taken for a checkpoint.
      const auto doomed = options_.directory / hidden_name(step, Hidden::temporary);
      files_.rename(options_.directory / step_name(step), doomed);
      remove_folder(files_, doomed);
      good_.erase(step);
    }
  } catch (const FileSystemError& error) {
    messages.push_back(fmt::format("an old checkpoint was not removed: {}", error.what()));
  }
}

FoundCheckpoint CheckpointStore::newest_good(Leftovers leftovers) {
  FoundCheckpoint found;
  try {
    if (leftovers == Leftovers::remove) recover(found.messages);
    for (const std::int64_t step : steps_in(files_, options_.directory)) {
      const auto path = options_.directory / step_name(step);
      try {
        const CheckpointInfo info = verify_checkpoint(files_, path);
        if (info.step != step) {
          throw CheckpointError(fmt::format("checkpoint {} cannot be used: it is one of step {}",
                                            path.string(), info.step));
        }
        good_[step] = true;
        found.newest = info;
        break;
      } catch (const CheckpointError& error) {
        good_[step] = false;
        found.messages.push_back(fmt::format("passed over: {}", error.what()));
      }
    }
  } catch (const FileSystemError& error) {
    // A run that has not saved yet has no folder.
    if (error.code() != ENOENT) found.messages.emplace_back(error.what());
  }
  return found;
}

LoadedCheckpoint CheckpointStore::load(const std::filesystem::path& path) {
  return load_checkpoint(files_, path);
}

}  // namespace lockstep::runtime::checkpoint
