// What a person sees of a run: on a terminal one line that is drawn again and again, elsewhere one
// line a logged step.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace lockstep::runtime::metrics {

// What there is to say about a step; what was not measured is left out of the line.
struct StepLine {
  std::int64_t step = 0;   // steps done
  std::int64_t steps = 0;  // steps in all, 0 if that is not known
  std::optional<double> loss;
  std::optional<double> lr;
  std::optional<double> step_ms;
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;  // shown instead of samples_per_s where it is there
  std::optional<double>
      share_of_ceiling;  // 0 to 1, of what the processor's matrix products can reach
  std::optional<double> comm_ms;
  std::optional<double> exposed_comm_ms;
  std::optional<double> data_wait_ms;
};

// step 1200/5000  loss 2.1432  lr 3.0e-04  412.3 ms  4,966 samples/s  comm 38.1 ms (exposed 2.4)
// data 0.3 ms
[[nodiscard]] std::string plain_line(const StepLine& line);

//  24% [#####---------------]  1200/5000  loss 2.1432  4,966 samples/s  left 26:07
// At most `width` columns: what does not fit is left out, the bar first, then from the right.
[[nodiscard]] std::string terminal_line(const StepLine& line, std::size_t width);

enum class ProgressStyle { terminal, plain };

// As LOCKSTEP_PROGRESS says (`terminal` or `plain`); else what isatty(descriptor) says.
[[nodiscard]] ProgressStyle progress_style(int descriptor);

// Columns of the terminal behind the descriptor; 80 if there is none.
[[nodiscard]] std::size_t terminal_width(int descriptor);

class Progress {
 public:
  // `width` is asked at every line, since windows change. REQUIRES: `out` outlives it.
  Progress(std::ostream& out, ProgressStyle style, std::function<std::size_t()> width);

  // A step that is not logged: the line on a terminal is drawn again, nothing is written elsewhere.
  void advance(const StepLine& line);

  // A logged step.
  void log(const StepLine& line);

  // A sentence of its own line, above the line that is drawn again.
  void say(std::string_view message);

  // Leaves the last line standing.
  void finish();

 private:
  void draw(const std::string& text);

  std::ostream& out_;
  ProgressStyle style_;
  std::function<std::size_t()> width_;
  std::string drawn_;
};

}  // namespace lockstep::runtime::metrics
