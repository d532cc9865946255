// A job compiled for a number of workers: what --dump shows, what plan.json keeps and what ranks
// must agree on.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/compile.h"
#include "engine/device/visibility.h"
#include "runtime/data/source.h"
#include "runtime/job.h"
#include "runtime/kernel_choice.h"
#include "runtime/parallel/agreement.h"

namespace lockstep::runtime {

// Numbers that follow from the job, its data and the number of workers.
struct JobShape {
  data::SampleShape sample;
  std::string vocabulary;                // of the data, see data::Source; empty: not its own
  std::int64_t batch = 0;                // samples an optimizer step, over all workers
  std::int64_t capacity = 0;             // samples a micro-step on one worker, padding included
  std::int64_t evaluation_capacity = 0;  // 0: no evaluation
  std::int64_t steps_per_epoch = 0;
  std::int64_t total_steps = 0;
  std::int64_t token_values = 0;  // that the model has; 0: samples are images
};

struct JobPlan {
  JobShape shape;
  engine::OpTable ops;
  engine::CompiledJob compiled;
};

[[nodiscard]] LOCKSTEP_API JobPlan plan_job(const Job& job, const JobShape& shape,
                                            const engine::KernelTable& kernels);

enum class Dump { graph, plan, memory };
[[nodiscard]] LOCKSTEP_API std::string dump(const JobPlan& plan, Dump what);

// plan.json: everything that was chosen. `hash` in it is over all the rest.
struct ChosenFor {
  int world = 1;
  int threads = 1;
  KernelChoice kernels;
};
[[nodiscard]] LOCKSTEP_API nlohmann::ordered_json to_json(const JobPlan& plan, const Job& job,
                                                          const ChosenFor& chosen);

// What must be equal on all ranks: graph, buckets, world, precision, what of the job they share,
// and what tokens stand for.
[[nodiscard]] LOCKSTEP_API std::vector<parallel::AgreementSection> agreement_of(const JobPlan& plan,
                                                                                const Job& job,
                                                                                int world);

// The program that ends an optimizer step.
[[nodiscard]] LOCKSTEP_API const engine::Plan& ending_plan(const JobPlan& plan);

// Floating-point operations of the products (ops of class low, repeated ones not) of one optimizer
// step of one worker.
[[nodiscard]] LOCKSTEP_API double flops_of_step(const JobPlan& plan, int accumulate);

}  // namespace lockstep::runtime
