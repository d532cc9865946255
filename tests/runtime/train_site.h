// A place where a test trains as a user does: a folder with job files and runs, and the real
// `lockstep train` and `lockstep launch`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/launcher/launched.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::runtime {

using Json = nlohmann::json;

// Small jobs on synthetic data, named after their model, of 12 steps, a checkpoint every 4.
[[nodiscard]] Json lenet_job();   // AdamW, batch 96
[[nodiscard]] Json resnet_job();  // depth 8, SGD, batch 16, flips and crops
[[nodiscard]] Json gpt_job();     // two layers, dropout, clipping, AdamW, batch 12

class TrainSite {
 public:
  // A job file in the site's folder; its path.
  [[nodiscard]] std::string write(const Json& job, const std::string& file = "job.json") const;

  // What to give Launched. Run folders are made in runs().
  [[nodiscard]] launcher::Launched::Setup train(const Json& job,
                                                const std::vector<std::string>& more = {}) const;
  [[nodiscard]] launcher::Launched::Setup launch(int workers, const Json& job,
                                                 const std::vector<std::string>& more = {}) const;

  // Trains to the end on that many workers (alone with 1) and gives the run's folder; a failed
  // expectation where the exit code is not 0.
  [[nodiscard]] std::filesystem::path done(int workers, const Json& job) const;

  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path runs() const { return folder_.path() / "runs"; }
  // The newest run of that name, its own path rather than the link's.
  [[nodiscard]] std::filesystem::path latest(const std::string& name) const;

 private:
  launcher::TemporaryFolder folder_;
};

[[nodiscard]] Json summary(const std::filesystem::path& run);
[[nodiscard]] std::vector<Json> metrics(const std::filesystem::path& run);
// The losses of the logged steps, in the file's order.
[[nodiscard]] std::vector<double> losses(const std::filesystem::path& run);

[[nodiscard]] std::filesystem::path saved_at(const std::filesystem::path& run, std::int64_t step);
// Nothing where model and optimizer are the same byte for byte, else the first file that differs.
[[nodiscard]] std::string difference(const std::filesystem::path& one,
                                     const std::filesystem::path& other);

// The process that trains as that rank; 0 where there is none.
[[nodiscard]] pid_t worker_of(const launcher::Launched& job, int rank);
[[nodiscard]] int count(const std::string& text, const std::string& part);

}  // namespace lockstep::runtime
