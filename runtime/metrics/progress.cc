#include "runtime/metrics/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

namespace lockstep::runtime::metrics {
namespace {

constexpr std::size_t kBarCells = 20;
constexpr std::size_t kUsualWidth = 80;

// 4966.2 -> "4,966"; small rates keep digits that say something: "3.42".
std::string grouped(double value) {
  if (value < 10) return fmt::format("{:.2f}", value);
  if (value < 100) return fmt::format("{:.1f}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string step_text(const StepLine& line) {
  return line.steps > 0 ? fmt::format("{}/{}", line.step, line.steps)
                        : fmt::format("{}", line.step);
}

std::string rate_text(const StepLine& line) {
  if (line.tokens_per_s) return grouped(*line.tokens_per_s) + " tok/s";
  if (line.samples_per_s) return grouped(*line.samples_per_s) + " samples/s";
  return "";
}

void add(std::vector<std::string>& parts, std::string part) {
  if (!part.empty()) parts.push_back(std::move(part));
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += "  ";
    text += part;
  }
  return text;
}

std::string bar(const StepLine& line) {
  const auto done = std::min(
      static_cast<std::size_t>(line.step) * kBarCells / static_cast<std::size_t>(line.steps),
      kBarCells);
  return fmt::format("[{}{}]", std::string(done, '#'), std::string(kBarCells - done, '-'));
}

}  // namespace

std::string plain_line(const StepLine& line) {
  std::vector<std::string> parts{fmt::format("step {}", step_text(line))};
  if (line.loss) add(parts, fmt::format("loss {:.4f}", *line.loss));
  if (line.lr) add(parts, fmt::format("lr {:.1e}", *line.lr));
  if (line.step_ms) add(parts, fmt::format("{:.1f} ms", *line.step_ms));
  add(parts, rate_text(line));
  if (line.share_of_ceiling) {
    add(parts, fmt::format("{:.0f}% of the matrix ceiling", 100 * *line.share_of_ceiling));
  }
  if (line.comm_ms && line.exposed_comm_ms) {
    add(parts,
        fmt::format("comm {:.1f} ms (exposed {:.1f})", *line.comm_ms, *line.exposed_comm_ms));
  } else if (line.comm_ms) {
    add(parts, fmt::format("comm {:.1f} ms", *line.comm_ms));
  } else if (line.exposed_comm_ms) {
    add(parts, fmt::format("exposed comm {:.1f} ms", *line.exposed_comm_ms));
  }
  if (line.data_wait_ms) add(parts, fmt::format("data {:.1f} ms", *line.data_wait_ms));
  return joined(parts);
}

std::string terminal_line(const StepLine& line, std::size_t width) {
  std::vector<std::string> parts;
  if (line.steps > 0) parts.push_back(fmt::format("{:3}%", 100 * line.step / line.steps));
  add(parts, step_text(line));
  if (line.loss) add(parts, fmt::format("loss {:.4f}", *line.loss));
  add(parts, rate_text(line));
  if (line.steps > line.step && line.step_ms) {
    const auto steps_left = static_cast<double>(line.steps - line.step);
    add(parts, fmt::format("left {}", duration(steps_left * *line.step_ms / 1000)));
  }
  if (line.steps > 0) {
    std::vector<std::string> with_bar = parts;
    with_bar[0] = fmt::format("{} {}", parts[0], bar(line));
    std::string text = joined(with_bar);
    if (text.size() <= width) return text;
  }
  while (parts.size() > 1 && joined(parts).size() > width) parts.pop_back();
  return joined(parts).substr(0, width);
}

ProgressStyle progress_style(int descriptor) {
  const char* wanted = std::getenv("LOCKSTEP_PROGRESS");
  const std::string_view style = wanted == nullptr ? "" : wanted;
  if (style == "terminal") return ProgressStyle::terminal;
  if (style == "plain") return ProgressStyle::plain;
  return ::isatty(descriptor) == 1 ? ProgressStyle::terminal : ProgressStyle::plain;
}

std::size_t terminal_width(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return size.ws_col;
}

Progress::Progress(std::ostream& out, ProgressStyle style, std::function<std::size_t()> width)
    : out_(out), style_(style), width_(std::move(width)) {}

void Progress::advance(const StepLine& line) {
  // The last column stays free: some terminals go to the next line as soon as it is written.
  if (style_ == ProgressStyle::terminal)
    draw(terminal_line(line, std::max<std::size_t>(width_(), 2) - 1));
}

void Progress::log(const StepLine& line) {
  if (style_ == ProgressStyle::terminal) {
    advance(line);
  } else {
    out_ << plain_line(line) << '\n' << std::flush;
  }
}

void Progress::say(std::string_view message) {
  if (style_ == ProgressStyle::terminal && !drawn_.empty()) {
    out_ << '\r' << std::string(drawn_.size(), ' ') << '\r';
  }
  out_ << message << '\n';
  if (!drawn_.empty()) out_ << drawn_;
  out_ << std::flush;
}

void Progress::finish() {
  if (drawn_.empty()) return;
  out_ << '\n' << std::flush;
  drawn_.clear();
}

void Progress::draw(const std::string& text) {
  out_ << '\r' << text;
  if (text.size() < drawn_.size()) out_ << std::string(drawn_.size() - text.size(), ' ');
  out_ << std::flush;
  drawn_ = text;
}

}  // namespace lockstep::runtime::metrics
