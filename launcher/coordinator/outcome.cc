#include "launcher/coordinator/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "launcher/agent/worker_environment.h"
#include "launcher/process/signals.h"

namespace lockstep::launcher {
namespace {

constexpr std::size_t kShownLines = 20;

std::string_view last_lines(std::string_view text, std::size_t count) {
  std::size_t begin = text.size();
  while (begin > 0 && count > 0) {
    const std::size_t end = text.rfind('\n', begin - 1);
    if (end == std::string_view::npos) return text;
    if (end + 1 < text.size() && --count == 0) return text.substr(end + 1);
    begin = end;
  }
  return text.substr(begin);
}

void append_quoted(std::string& report, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    report += fmt::format("    | {}\n", text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

// torch's `record` writes {"message": TEXT} or {"message": {"message": TEXT, ...}}.
std::string error_message(const std::string& path) {
  constexpr std::size_t kLongest = std::size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::string text(kLongest, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  while (json.is_object() && json.contains("message")) {
    nlohmann::json inner = json["message"];
    json = std::move(inner);
  }
  return json.is_string() ? json.get<std::string>() : text;
}

std::string unreached_report(const std::vector<UnreachedHost>& hosts) {
  std::size_t width = 0;
  for (const UnreachedHost& host : hosts) width = std::max(width, host.host.size());
  std::string report = fmt::format("error: {} host{} could not be used, and nothing was started:\n",
                                   hosts.size(), hosts.size() == 1 ? "" : "s");
  for (const UnreachedHost& host : hosts) {
    report += fmt::format("  {:<{}}  {}\n", host.host, width, host.why);
  }
  return report;
}

}  // namespace

std::string join_ranks(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += text.empty() ? "" : ", ";
    text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string how_it_ended(const Ended& ended) {
  if (ended.signal == 0) return fmt::format("exited with code {}", ended.code);
  const std::string name = signal_name(ended.signal);
  switch (ended.killer.cause) {
    case Cause::kOutOfMemory:
      return fmt::format("was killed by {}, by the kernel because memory ran out ({})", name,
                         ended.killer.evidence);
    case Cause::kUnknownSender:
      return fmt::format("was killed by {}, by the kernel (out of memory?) or by someone else",
                         name);
    case Cause::kNone:
      break;
  }
  return fmt::format("was ended by {}", name);
}

std::string failure_report(const Outcome& outcome, const std::string& run_folder) {
  if (!outcome.unreached.empty()) return unreached_report(outcome.unreached);
  const std::string remark = outcome.remark.empty() ? "" : fmt::format("  {}\n", outcome.remark);
  if (!outcome.culprit) return remark;
  const Culprit& culprit = *outcome.culprit;
  if (!culprit.rank) {
    const std::string agent =
        culprit.pid != 0 ? fmt::format(" (agent pid {})", culprit.pid) : std::string();
    return fmt::format("error: host {}{} {}\n{}", culprit.host, agent, culprit.what, remark);
  }
  const std::uint32_t rank = *culprit.rank;
  std::string report = culprit.pid == 0 ? fmt::format("error: rank {} (host {}) {}\n", rank,
                                                      culprit.host, culprit.what)
                                        : fmt::format("error: rank {} (host {}, pid {}) {}\n", rank,
                                                      culprit.host, culprit.pid, culprit.what);
  if (const std::string message = error_message(error_file(run_folder, rank)); !message.empty()) {
    report += "  its error:\n";
    append_quoted(report, message);
  }
  if (!culprit.last_errors.empty()) {
    report += "  its last lines on standard error:\n";
    append_quoted(report, last_lines(culprit.last_errors, kShownLines));
  }
  if (culprit.pid != 0) report += fmt::format("  its log: {}\n", log_file(run_folder, rank));
  const auto others = [&report](const std::vector<std::uint32_t>& ranks, std::string_view what) {
    if (ranks.empty()) return;
    report +=
        fmt::format("  {} {} {}\n", ranks.size() == 1 ? "rank" : "ranks", join_ranks(ranks), what);
  };
  others(culprit.failed_after, "failed after it");
  others(culprit.ended_by_us,
         culprit.pid != 0 ? "then ended by the launcher" : "ended by the launcher");
  return report + remark;
}

}  // namespace lockstep::launcher
