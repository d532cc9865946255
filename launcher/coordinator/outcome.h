// How a job ended, and who it was that ended it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

// Exit codes of the launcher, from CONTRACTS.md.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitPreempted = 75;
inline constexpr int kExitNoProgress = 93;
inline constexpr int kExitNotStarted = 125;
inline constexpr int kExitInterrupted = 130;

enum class Status { kDone, kFailed, kPreempted, kInterrupted };
enum class ExitSource { kWorker, kLauncher };

// The first failure.
struct Culprit {
  std::optional<std::uint32_t> rank;  // none: the host or its agent itself
  std::string host;
  std::int64_t pid = 0;
  std::string what;         // completes "rank R (host H, pid P) ...": "exited with code 7"
  std::string last_errors;  // the end of its standard error, whole lines
  std::vector<std::uint32_t> failed_after;  // other ranks that failed, in order of rank
  std::vector<std::uint32_t> ended_by_us;   // other ranks that our signals ended
};

// A host on which nothing could be started.
struct UnreachedHost {
  std::string host;
  std::string why;
};

struct Outcome {
  Status status = Status::kDone;
  int code = 0;
  ExitSource source = ExitSource::kWorker;
  std::optional<Culprit> culprit = {};
  std::vector<UnreachedHost> unreached = {};  // why nothing was started, where that was so
  std::string remark = {};                    // one more sentence for the report
  std::uint32_t restarts = 0;
  std::uint32_t world = 0;  // of the last attempt
};

// Completes "rank R ...": "exited with code 7".
// REQUIRES: it did not end well.
[[nodiscard]] std::string how_it_ended(const Ended& ended);

// The failure in words, ready to print: the culprit, the message in its error file (where it
// wrote one), the last lines of its standard error, its log, and the others in one line; or a table
// of the hosts that could not be used. Empty where nothing failed.
[[nodiscard]] std::string failure_report(const Outcome& outcome, const std::string& run_folder);

// "0-2, 5": ascending numbers, runs joined.
[[nodiscard]] std::string join_ranks(const std::vector<std::uint32_t>& ranks);

}  // namespace lockstep::launcher
