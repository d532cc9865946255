// summary.json: what a run came to. What was not measured is null, never 0.
//
// Names and units are docs/metrics.md's: times seconds since 1970 or milliseconds where a name says
// so, sizes bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "engine/device/visibility.h"

namespace lockstep::runtime::metrics {

enum class RunStatus { done, failed, preempted, interrupted };
enum class ExitSource { worker, launcher };

[[nodiscard]] std::string_view name_of(RunStatus status);
[[nodiscard]] std::string_view name_of(ExitSource source);

using Measured = std::optional<double>;
using Counted = std::optional<std::int64_t>;
using Text = std::optional<std::string>;

struct Summary {
  struct Exit {
    int code = 0;
    ExitSource source = ExitSource::worker;
    Counted rank;
    Text host;
  };
  struct Model {
    Text kind;
    Counted parameters;
  };
  struct Eval {
    Measured loss, accuracy;
    Counted samples;
  };
  struct Throughput {
    Measured samples_per_s, tokens_per_s, tflops, share_of_ceiling;
  };
  struct StepMs {
    Measured median, p95, data_wait, forward, backward, exposed_comm, stolen_comm, peer_wait,
        optimizer;
  };
  struct Arenas {
    Counted parameters, gradients, optimizer, activations, workspace;
  };
  struct Memory {
    Counted planned, peak_resident, lower_bound_activations;
    Arenas arenas;
  };

  std::string name, run;
  std::optional<RunStatus> status;  // null while the run goes on
  std::optional<Exit> exit;
  Counted world;
  Text device, precision, backend;
  Model model;
  Counted steps;
  Measured epochs;
  Counted samples, tokens;
  Measured train_loss;  // global mean over the last logged interval
  Eval eval;
  Throughput throughput;
  StepMs step_ms;
  Memory memory;
  Counted restarts;
  Measured goodput, started, ended;
  Text plan_hash;
};

// In the contract's order of keys. A number that is not finite becomes null.
[[nodiscard]] nlohmann::ordered_json to_json(const Summary& summary);

// The file's text: indented by two, with a newline at the end.
[[nodiscard]] LOCKSTEP_API std::string to_text(const Summary& summary);

}  // namespace lockstep::runtime::metrics
