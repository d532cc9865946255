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
inline constexpr int kExitNotStarted = 125;
inline constexpr int kExitInterrupted = 130;

enum class Status { kDone, kFailed, kInterrupted };
enum class ExitSource { kWorker, kLauncher };

// The first failure.
struct Culprit {
  std::optional<std::uint32_t> rank;  // none: the agent itself
  std::string host;
  std::int64_t pid = 0;
  std::string what;         // completes "rank R (host H, pid P) ...": "exited with code 7"
  std::string last_errors;  // the end of its standard error, whole lines
  std::vector<std::uint32_t> failed_after;  // other ranks that failed, in order of rank
  std::vector<std::uint32_t> ended_by_us;   // other ranks that our signals ended
};

struct Outcome {
  Status status = Status::kDone;
  int code = 0;
  ExitSource source = ExitSource::kWorker;
  std::optional<Culprit> culprit;
};

// Completes "rank R ...": "exited with code 7".
// REQUIRES: it did not end well.
[[nodiscard]] std::string how_it_ended(const Ended& ended);

// The failure in words, ready to print: the culprit, the message in its error file (where it
// wrote one), the last lines of its standard error, its log, and the others in one line.
// REQUIRES: outcome.culprit.
[[nodiscard]] std::string failure_report(const Outcome& outcome, const std::string& run_folder);

// "0-2, 5": ascending numbers, runs joined.
[[nodiscard]] std::string join_ranks(const std::vector<std::uint32_t>& ranks);

}  // namespace lockstep::launcher
