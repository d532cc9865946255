#include "runtime/metrics/summary.h"

#include "runtime/metrics/measured.h"

namespace lockstep::runtime::metrics {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;

ordered_json exit_json(const std::optional<Summary::Exit>& exit) {
  if (!exit) return nullptr;
  return {{"code", exit->code},
          {"source", name_of(exit->source)},
          {"rank", or_null(exit->rank)},
          {"host", or_null(exit->host)}};
}

ordered_json throughput_json(const Summary::Throughput& throughput) {
  return {{"samples_per_s", or_null(throughput.samples_per_s)},
          {"tokens_per_s", or_null(throughput.tokens_per_s)},
          {"tflops", or_null(throughput.tflops)},
          {"share_of_ceiling", or_null(throughput.share_of_ceiling)}};
}

ordered_json step_json(const Summary::StepMs& step) {
  return {{"median", or_null(step.median)},           {"p95", or_null(step.p95)},
          {"data_wait", or_null(step.data_wait)},     {"forward", or_null(step.forward)},
          {"backward", or_null(step.backward)},       {"exposed_comm", or_null(step.exposed_comm)},
          {"stolen_comm", or_null(step.stolen_comm)}, {"peer_wait", or_null(step.peer_wait)},
          {"optimizer", or_null(step.optimizer)}};
}

ordered_json memory_json(const Summary::Memory& memory) {
  const Summary::Arenas& arenas = memory.arenas;
  return {{"planned", or_null(memory.planned)},
          {"peak_resident", or_null(memory.peak_resident)},
          {"arenas",
           {{"parameters", or_null(arenas.parameters)},
            {"gradients", or_null(arenas.gradients)},
            {"optimizer", or_null(arenas.optimizer)},
            {"activations", or_null(arenas.activations)},
            {"workspace", or_null(arenas.workspace)}}},
          {"lower_bound_activations", or_null(memory.lower_bound_activations)}};
}

}  // namespace

std::string_view name_of(RunStatus status) {
  switch (status) {
    case RunStatus::done:
      return "done";
    case RunStatus::failed:
      return "failed";
    case RunStatus::preempted:
      return "preempted";
    case RunStatus::interrupted:
      return "interrupted";
  }
  return "?";
}

std::string_view name_of(ExitSource source) {
  switch (source) {
    case ExitSource::worker:
      return "worker";
    case ExitSource::launcher:
      return "launcher";
  }
  return "?";
}

ordered_json to_json(const Summary& summary) {
  ordered_json json;
  json["version"] = kVersion;
  json["name"] = summary.name;
  json["run"] = summary.run;
  json["status"] = summary.status ? ordered_json(name_of(*summary.status)) : ordered_json(nullptr);
  json["exit"] = exit_json(summary.exit);
  json["world"] = or_null(summary.world);
  json["device"] = or_null(summary.device);
  json["precision"] = or_null(summary.precision);
  json["backend"] = or_null(summary.backend);
  json["model"] = {{"kind", or_null(summary.model.kind)},
                   {"parameters", or_null(summary.model.parameters)}};
  json["steps"] = or_null(summary.steps);
  json["epochs"] = or_null(summary.epochs);
  json["samples"] = or_null(summary.samples);
  json["tokens"] = or_null(summary.tokens);
  json["train"] = {{"loss", or_null(summary.train_loss)}};
  json["eval"] = {{"loss", or_null(summary.eval.loss)},
                  {"accuracy", or_null(summary.eval.accuracy)},
                  {"samples", or_null(summary.eval.samples)}};
  json["throughput"] = throughput_json(summary.throughput);
  json["step_ms"] = step_json(summary.step_ms);
  json["memory"] = memory_json(summary.memory);
  json["restarts"] = or_null(summary.restarts);
  json["goodput"] = or_null(summary.goodput);
  json["started"] = or_null(summary.started);
  json["ended"] = or_null(summary.ended);
  json["plan_hash"] = or_null(summary.plan_hash);
  return json;
}

std::string to_text(const Summary& summary) {
  return to_json(summary).dump(2) + "\n";
}

}  // namespace lockstep::runtime::metrics
