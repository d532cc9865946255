#include "runtime/job_plan.h"

#include <fmt/format.h>

#include "engine/fingerprint.h"
#include "runtime/from_job.h"
#include "runtime/model_plugin.h"
#include "runtime/parallel/ops.h"

namespace lockstep::runtime {
namespace {

std::string buckets_text(const engine::PersistentPlacement& placement) {
  std::string text;
  for (const engine::Bucket& bucket : placement.buckets()) {
    text += fmt::format("[{}, {})", bucket.begin, bucket.end);
    for (const std::string& parameter : bucket.parameters) text += " " + parameter;
    text += '\n';
  }
  return text;
}

// What must be the same on every rank beyond the graph: the order of samples, and the steps at
// which all ranks evaluate and save together. Where a rank's files lie is its own affair.
std::string shared_text(const Job& job, const JobShape& shape) {
  nlohmann::json text = to_json(job);
  for (const char* key : {"name", "resume", "metrics", "log_every_steps"}) text.erase(key);
  for (const char* key : {"threads", "prefetch"}) text["data"].erase(key);
  for (const char* set : {"train", "eval"}) {
    if (!text["data"].contains(set) || !text["data"][set].is_object()) continue;
    for (const char* file : {"images", "labels", "path"}) text["data"][set].erase(file);
  }
  if (job.model.kind == ModelKind::plugin) {
    text["model"].erase("path");
    text["plugin_stamp"] = plugin_stamp();
  }
  text["data"]["steps_per_epoch"] = shape.steps_per_epoch;
  // A line a value, with its whole path.
  text = text.flatten();
  std::string lines;
  for (const auto& [path, value] : text.items()) {
    lines += fmt::format("{} {}\n", path, value.dump());
  }
  return lines;
}

// A line a token, so that the first that is not the same is shown.
std::string vocabulary_text(const std::string& vocabulary) {
  return vocabulary.empty() ? "" : nlohmann::json::parse(vocabulary).dump(0);
}

}  // namespace

const engine::Plan& ending_plan(const JobPlan& plan) {
  auto it = plan.compiled.plans.find("whole");
  return it != plan.compiled.plans.end() ? it->second : plan.compiled.plans.at("last");
}

JobPlan plan_job(const Job& job, const JobShape& shape, const engine::KernelTable& kernels) {
  JobPlan plan{.shape = shape, .ops = engine::standard_ops(), .compiled = {}};
  parallel::add_ops(plan.ops);
  const parallel::DataParallel communicate(parallel_of(job));
  const engine::SampleShape sample{.height = shape.sample.image.height,
                                   .width = shape.sample.image.width,
                                   .channels = shape.sample.image.channels,
                                   .context = shape.sample.context};
  plan.compiled =
      engine::compile(model_of(job.model, sample, shape.token_values), plan.ops, kernels,
                      {.sample = sample,
                       .batch = shape.capacity,
                       .evaluation_batch = shape.evaluation_capacity,
                       .accumulate = static_cast<int>(job.accumulate),
                       .precision = precision_of(job.precision),
                       .recompute = recompute_of(job.recompute),
                       .optimizer = optimizer_of(job.optimizer, shape.total_steps)},
                      &communicate);
  return plan;
}

std::string dump(const JobPlan& plan, Dump what) {
  if (what == Dump::graph) return plan.compiled.graph.dump();
  std::string text;
  for (const auto& [name, program] : plan.compiled.plans) {
    text += fmt::format("# program {}\n", name);
    text +=
        what == Dump::plan ? engine::dump_plan(program, plan.ops) : engine::dump_memory(program);
  }
  return text;
}

nlohmann::ordered_json to_json(const JobPlan& plan, const Job& job, const ChosenFor& chosen) {
  nlohmann::ordered_json json;
  json["version"] = 1;
  json["world"] = chosen.world;
  json["threads"] = chosen.threads;
  json["kernels"] = to_json(chosen.kernels);
  json["precision"] = std::string(name_of(job.precision));
  json["accumulate"] = job.accumulate;
  json["batch"] = plan.shape.batch;
  json["micro_batch"] = plan.shape.capacity;
  json["update"] = job.optimizer.clip_norm ? "after the late word" : "as each bucket lands";
  json["overlapped_share"] = parallel::overlapped_share(ending_plan(plan));
  auto& buckets = json["buckets"] = nlohmann::ordered_json::array();
  for (const engine::Bucket& bucket : plan.compiled.placement.buckets()) {
    buckets.push_back({{"bytes", (bucket.end - bucket.begin) * sizeof(float)},
                       {"parameters", bucket.parameters}});
  }
  auto& arenas = json["arenas"] = nlohmann::ordered_json::object();
  for (std::size_t arena = 0; arena < engine::kArenas; ++arena) {
    arenas[std::string(name_of(static_cast<engine::Arena>(arena)))] =
        plan.compiled.arena_bytes[arena];
  }
  auto& programs = json["programs"] = nlohmann::ordered_json::object();
  for (const auto& [name, program] : plan.compiled.plans) {
    programs[name] = {
        {"nodes", program.entries.size()},
        {"events", program.events},
        {"hash",
         fmt::format("{:016x}", engine::fingerprint(engine::dump_plan(program, plan.ops)))}};
  }
  json["hash"] = fmt::format("{:016x}", engine::fingerprint(json.dump()));
  return json;
}

std::vector<parallel::AgreementSection> agreement_of(const JobPlan& plan, const Job& job,
                                                     int world) {
  return {{"graph", plan.compiled.graph.dump()},
          {"buckets", buckets_text(plan.compiled.placement)},
          {"world", std::to_string(world)},
          {"precision", std::string(name_of(job.precision))},
          {"job", shared_text(job, plan.shape)},
          {"vocabulary", vocabulary_text(plan.shape.vocabulary)}};
}

double flops_of_step(const JobPlan& plan, int accumulate) {
  double flops = 0;
  for (const engine::Entry& entry : ending_plan(plan).entries) {
    const engine::Node& node = ending_plan(plan).node(entry);
    const engine::OpDefinition& op = plan.ops.find(node.op);
    if (op.precision != engine::PrecisionClass::low || node.repeated) continue;
    flops += op.cost(ending_plan(plan).graph, node).flops;
  }
  return flops * accumulate;
}

}  // namespace lockstep::runtime
