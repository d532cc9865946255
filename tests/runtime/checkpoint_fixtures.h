// Checkpoints of a made-up model, whose every byte follows from the step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"

namespace lockstep::runtime::checkpoint::fixtures {

// Owns what a CheckpointContent only looks at.
class Content {
 public:
  explicit Content(std::int64_t step) : weight_(6), bias_(3), momentum_(6) {
    for (std::size_t at = 0; at < weight_.size(); ++at) {
      weight_[at] = static_cast<float>(step) + static_cast<float>(at) / 8;
      momentum_[at] = -weight_[at];
    }
    for (std::size_t at = 0; at < bias_.size(); ++at) bias_[at] = static_cast<float>(step * 3);
    batches_ = step;
    content_.model = {
        {"fc.weight", TensorType::f32, {2, 3}, std::as_bytes(std::span(weight_))},
        {"fc.bias", TensorType::f32, {3}, std::as_bytes(std::span(bias_))},
        {"bn.num_batches_tracked", TensorType::i64, {}, std::as_bytes(std::span(&batches_, 1))}};
    content_.optimizer = {
        {"fc.weight.momentum", TensorType::f32, {2, 3}, std::as_bytes(std::span(momentum_))}};
    content_.state = {{"step", step}, {"loader", {{"epoch", 1}, {"position", step * 128}}}};
    content_.plan_json = "{\"plan\": [1, 2, 3]}\n";
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  [[nodiscard]] const CheckpointContent& content() const { return content_; }

 private:
  std::vector<float> weight_, bias_, momentum_;
  std::int64_t batches_ = 0;
  CheckpointContent content_;
};

inline bool same(const std::vector<TensorView>& left, const std::vector<TensorView>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const TensorView& one, const TensorView& other) {
                      return one.name == other.name && one.dtype == other.dtype &&
                             one.shape == other.shape &&
                             std::equal(one.bytes.begin(), one.bytes.end(), other.bytes.begin(),
                                        other.bytes.end());
                    });
}

inline bool same(const CheckpointContent& left, const CheckpointContent& right) {
  return same(left.model, right.model) && same(left.optimizer, right.optimizer) &&
         left.state == right.state && left.plan_json == right.plan_json;
}

// Files by name, of one folder.
using Files = std::map<std::string, std::vector<std::byte>>;

inline Files files_of(FileSystem& disk, const std::filesystem::path& folder) {
  Files files;
  for (const std::string& name : disk.list(folder)) files[name] = read_file(disk, folder / name);
  return files;
}

// A folder that goes when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A folder of real files, LOCKSTEP_SHARED/corpus/data/NAME or ../shared/corpus/data/NAME beside the
// sources.
inline std::optional<std::filesystem::path> corpus(const std::string& name) {
  const char* given = std::getenv("LOCKSTEP_SHARED");
  const auto shared = given != nullptr
                          ? std::filesystem::path(given)
                          : std::filesystem::path(LOCKSTEP_SOURCE_DIR).parent_path() / "shared";
  const auto folder = shared / "corpus" / "data" / name;
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return folder;
}

}  // namespace lockstep::runtime::checkpoint::fixtures
