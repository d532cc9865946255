#include "engine/compile.h"

#include <algorithm>

namespace lockstep::engine {
namespace {

struct TrainingProgram {
  std::string name;
  MicroStep micro_step;
  Graph graph;
};

std::vector<TrainingProgram> training_programs(int accumulate) {
  if (accumulate == 1) return {{"whole", MicroStep::whole, {}}};
  std::vector<TrainingProgram> programs{{"first", MicroStep::first, {}}};
  if (accumulate > 2) programs.push_back({"middle", MicroStep::middle, {}});
  programs.push_back({"last", MicroStep::last, {}});
  return programs;
}

void add_missing(std::vector<DerivedWeight>& all, const std::vector<DerivedWeight>& more) {
  for (const DerivedWeight& derived : more) {
    if (std::find(all.begin(), all.end(), derived) == all.end()) all.push_back(derived);
  }
}

std::vector<Bucket> one_bucket(const Graph& graph) {
  Bucket bucket;
  for (ValueId id : graph.values_of(Role::parameter)) {
    if (!graph.value(id).alias_of.valid()) bucket.parameters.push_back(graph.value(id).name);
  }
  return {bucket};
}

}  // namespace

CompiledJob compile(const ModelFunction& model, const OpTable& ops, const KernelTable& kernels,
                    const CompileOptions& options, const CommunicatePass* communicate) {
  CompiledJob job;
  std::vector<TrainingProgram> programs = training_programs(options.accumulate);
  std::vector<DerivedWeight> derived;
  for (TrainingProgram& program : programs) {
    BuiltModel built =
        build_training(model, ops, {options.sample, options.batch}, program.micro_step);
    Graph graph = precision(std::move(built.graph), ops, options.precision);
    graph = fuse(std::move(graph), ops);
    graph = differentiate(std::move(graph), ops);
    graph = recompute(std::move(graph), ops, options.recompute);
    graph = update(std::move(graph), ops, options.optimizer, program.micro_step);
    if (ends_step(program.micro_step)) {
      job.graph = graph;
      job.initial_values = std::move(built.initial_values);
    }
    program.graph = layout(std::move(graph), ops, kernels);
    add_missing(derived, derived_weights(program.graph));
  }
  Graph evaluation;
  if (options.evaluation_batch > 0) {
    BuiltModel built = build_evaluation(model, ops, {options.sample, options.evaluation_batch});
    evaluation = fuse(precision(std::move(built.graph), ops, options.precision), ops);
    evaluation = layout(std::move(evaluation), ops, kernels);
    add_missing(derived, derived_weights(evaluation));
  }

  // The program that ends a step decides the buckets, and with them where everything lies.
  for (TrainingProgram& program : programs) {
    if (ends_step(program.micro_step)) {
      program.graph = refreshed(std::move(program.graph), ops, derived);
    }
    program.graph = schedule(std::move(program.graph), ops);
  }
  const Graph& ending = programs.back().graph;
  job.placement.place_parameters(
      ending, communicate ? communicate->buckets(ending, ops) : one_bucket(ending));
  std::map<std::string, Graph> scheduled;
  for (TrainingProgram& program : programs) {
    if (communicate) {
      program.graph = communicate->communicate(std::move(program.graph), ops, job.placement);
    }
    scheduled[program.name] = std::move(program.graph);
  }
  if (options.evaluation_batch > 0) scheduled["evaluation"] = schedule(std::move(evaluation), ops);
  scheduled["refresh"] = refreshed({}, ops, derived);

  for (const auto& [name, graph] : scheduled) job.placement.place(graph);
  job.arena_bytes = job.placement.bytes();
  for (auto& [name, graph] : scheduled) {
    Plan plan = plan_memory(place_events(std::move(graph)), ops, job.placement);
    for (std::size_t arena = 0; arena < kArenas; ++arena) {
      job.arena_bytes[arena] = std::max(job.arena_bytes[arena], plan.arena_bytes[arena]);
    }
    job.plans.emplace(name, std::move(plan));
  }
  return job;
}

}  // namespace lockstep::engine
