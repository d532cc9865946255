// A `lockstep launch` that a test started, and the processes of its job.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/process/spawn.h"
#include "tests/launcher/eventually.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::launcher {

[[nodiscard]] std::string contents(const std::filesystem::path& file);

[[nodiscard]] std::string lockstep_program();
// What runs tests/launcher/worker.py in a mode, after `lockstep launch` and its flags.
[[nodiscard]] std::string python();
[[nodiscard]] std::vector<std::string> worker(const std::string& mode);

// The arguments of `lockstep launch` with these flags, what it is to start, and more of that's own
// arguments.
[[nodiscard]] std::vector<std::string> launch(const std::vector<std::string>& flags,
                                              const std::vector<std::string>& what,
                                              const std::vector<std::string>& more = {});

class Launched {
 public:
  struct Setup {
    std::vector<std::string> args;              // after `lockstep`
    std::vector<std::string> environment = {};  // added to the test's own
    std::optional<int> output = std::nullopt;   // where its standard output goes instead of a file
    std::vector<std::string> through = {};      // a command before `lockstep`
    std::string program = lockstep_program();
  };
  // It runs in a folder of its own, in which workers may leave files.
  explicit Launched(const Setup& setup);
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;
  ~Launched();  // kills what is left

  // Its exit code, 128+signal where a signal ended it; -1 where it did not end.
  [[nodiscard]] int wait(std::chrono::milliseconds limit = kPatience);
  void signal(int number) const;

  [[nodiscard]] pid_t pid() const { return process_.pid; }
  [[nodiscard]] long peak_kib() const { return peak_kib_; }  // REQUIRES: wait() returned its code
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  [[nodiscard]] std::string out() const { return contents(folder_.path() / "stdout"); }
  [[nodiscard]] std::string err() const { return contents(folder_.path() / "stderr"); }
  // runs/NAME/latest of that program.
  [[nodiscard]] std::filesystem::path run(const std::string& program) const;

  // All living processes that carry this test's mark in their environment: launcher, agent, workers
  // and whatever they started.
  [[nodiscard]] std::vector<pid_t> processes() const;
  // One that was started with this argv[0]; 0 where there is none.
  [[nodiscard]] pid_t process_named(const std::string& name) const;

 private:
  TemporaryFolder folder_;
  std::string mark_;
  Process process_;
  std::optional<int> code_;
  long peak_kib_ = 0;
};

}  // namespace lockstep::launcher
