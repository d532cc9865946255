#include "runtime/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <ostream>
#include <thread>

#include "collectives/communicator.h"
#include "collectives/host/host_communicator.h"
#include "collectives/rendezvous/store_client.h"
#include "engine/cpu/kernels.h"
#include "engine/matrix_ceiling.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/divergence.h"
#include "runtime/first_failure.h"
#include "runtime/from_job.h"
#include "runtime/initial_weights.h"
#include "runtime/interrupt.h"
#include "runtime/job_data.h"
#include "runtime/memory_budget.h"
#include "runtime/node_times.h"
#include "runtime/parallel/agreement.h"
#include "runtime/parallel/kernels.h"
#include "runtime/resume.h"
#include "runtime/run_log.h"
#include "runtime/run_numbers.h"
#include "runtime/snapshot.h"
#include "runtime/worker.h"

namespace lockstep::runtime {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class Trainer {
 public:
  Trainer(const Job& job, std::ostream& out)
      : job_(job), place_(place_from_environment()), threads_(compute_threads(place_)), out_(out) {
    if (!place_.launched) interrupts_.emplace();
    pin(place_, threads_);
    engine::cpu::flush_denormals();
    worker_ = join(place_, deadline(), job_.parallel.synchronise);
    group_ = worker_.communicator.get();
  }

  TrainEnd run(const TrainOptions& options) {
    try {
      prepare(options);
      begin(options);
      const TrainEnd end = run_steps();
      if (log_) {
        fill_summary();
        log_->finish(
            end == TrainEnd::done ? metrics::RunStatus::done : metrics::RunStatus::interrupted,
            end == TrainEnd::done ? 0 : 130);
        out_ << fmt::format("run folder: {}\n", log_->folder().path().string()) << std::flush;
      }
      if (worker_.store) worker_.store->leave();
      return end;
    } catch (const std::exception& error) {
      if (log_) {
        fill_summary();
        log_->note(fmt::format("error: {}", error.what()));
        log_->finish(metrics::RunStatus::failed, 1);
      }
      leave_the_first_word(error);
      throw;
    }
  }

 private:
  [[nodiscard]] std::chrono::nanoseconds deadline() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        duration<double>(job_.parallel.deadline_s));
  }

  // One rank's failure ends all. The others hear of it, with its reason; and what fails in waiting
  // for others gives those the time to speak and end first, so that the launcher finds the cause
  // and not a consequence. It is usually ended itself meanwhile.
  void leave_the_first_word(const std::exception& error) {
    constexpr milliseconds kTimeToEnd{1000};
    if (!worker_.store) return;
    if (dynamic_cast<const collectives::CollectiveError*>(&error) != nullptr ||
        dynamic_cast<const collectives::rendezvous::StoreError*>(&error) != nullptr) {
      std::this_thread::sleep_for(kTimeToEnd);
    }
    try {
      worker_.store->abort(fmt::format("rank {} failed: {}", place_.rank, error.what()));
    } catch (const std::exception&) {
      // The store is lost: there is nobody to tell.
    }
  }

  // Without reduction every rank still does the step it would do with it; evaluation, which is not
  // timed, then sees the whole set.
  [[nodiscard]] Share training_share() const { return {place_.rank, place_.world}; }

  // What may fail on every rank alike (a file that is not there) is said by one.
  void prepare(const TrainOptions& options) {
    std::exception_ptr failure;
    try {
      datasets_ = open_datasets(job_, needs_of(job_));
      nlohmann::json wanted;
      if (options.plan) {
        wanted = read_plan(*options.plan);
        kernel_choice_ = kernels_of(wanted, *options.plan);
      }
      kernels_ = engine::cpu::kernels(threads_, kernel_choice_.isa, kernel_choice_.low_products);
      plan_.emplace(
          plan_job(job_, shape_of(job_, datasets_, place_.world, group_->world()), kernels_));
      if (options.plan) require_same_plan(plan_json(), wanted, *options.plan);
      if (const auto available = available_memory()) {
        require_memory(*plan_, job_, {*available, place_.local_world}, kernels_);
      }
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
    const double none = std::numeric_limits<double>::max();
    const double mine = failure ? static_cast<double>(group_->rank()) : none;
    const double first = least(*group_, mine);
    if (failure && first == mine) std::rethrow_exception(failure);
    if (first != none) wait_for_the_end_of(*group_, static_cast<int>(first));
    if (worker_.store && job_.parallel.synchronise) {
      parallel::require_agreement(*worker_.store, agreement_of(*plan_, job_, place_.world),
                                  std::chrono::duration_cast<milliseconds>(deadline()));
    }
    ceiling_ = engine::matrix_ceiling(plan_->ops, kernels_, precision_of(job_.precision)) *
               static_cast<double>(place_.world);
    parallel::add_kernels(kernels_, *group_);
    replica_.emplace(plan_->compiled, kernels_, *group_, static_cast<int>(job_.accumulate));
    train_loader_ = make_loader(job_, *datasets_.train, training_share(), data::Mode::training);
  }

  // Parameters, and for rank 0 the run folder; from a checkpoint where there is one to go on from.
  void begin(const TrainOptions& options) {
    replica_->initialise(job_.seed);
    std::vector<std::string> messages;
    bool resumed = false;
    if (place_.rank == 0) {
      auto given = metrics::RunFolder::given();
      metrics::RunFolder folder =
          given ? std::move(*given) : metrics::RunFolder::create(options.runs, job_.name);
      FoundResume found = find_resume(job_, folder);
      messages = std::move(found.messages);
      if (found.checkpoint) {
        point_ = restore(*replica_, *found.checkpoint, plan_->shape.vocabulary);
        require_place_in_epoch(found.path);
        resumed = true;
        messages.push_back(
            fmt::format("resuming at step {} from {}", point_.step, found.path.string()));
        note_plan_change(found.checkpoint->content.plan_json, messages);
      } else if (job_.model.weights) {
        load_weights(*replica_, files_, *job_.model.weights);
        messages.push_back(fmt::format("weights from {}", job_.model.weights->string()));
      }
      log_.emplace(job_, std::move(folder), resumed ? std::optional(point_.step) : std::nullopt,
                   out_);
      if (job_.checkpoint) {
        checkpoints_.emplace(files_,
                             checkpoint::CheckpointStore::Options{
                                 .directory = log_->folder().checkpoints(),
                                 .keep = static_cast<std::size_t>(job_.checkpoint->keep),
                                 .generation = static_cast<std::uint64_t>(place_.generation)});
      }
    }
    share(*replica_, *group_, point_);
    train_loader_->seek({point_.epoch, point_.step_in_epoch});
    first_step_ = point_.step;
    if (!log_) return;
    for (const std::string& message : messages) log_->say(message);
    log_->folder().write("plan.json", plan_json().dump(2) + "\n");
    introduce();
    log_->write_summary();
  }

  void require_place_in_epoch(const std::filesystem::path& path) const {
    if (point_.step_in_epoch < plan_->shape.steps_per_epoch) return;
    throw checkpoint::CheckpointError(fmt::format(
        "{} was saved at step {} of its epoch, which now has {}: resume with the data and the "
        "batch "
        "that it was trained with (the batch is now {})",
        path.string(), point_.step_in_epoch, plan_->shape.steps_per_epoch, plan_->shape.batch));
  }

  [[nodiscard]] nlohmann::ordered_json plan_json() const {
    return to_json(*plan_, job_, {place_.world, threads_, kernel_choice_});
  }

  void note_plan_change(const std::string& saved, std::vector<std::string>& messages) const {
    const nlohmann::json before = nlohmann::json::parse(saved, nullptr, false);
    if (before.is_object() && plan_json().at("hash") == before.value("hash", "")) return;
    messages.push_back(
        "the checkpoint was written under another plan (world, threads or version): the run goes "
        "on, "
        "but not bit for bit as it would have");
  }

  void introduce() {
    const JobShape& shape = plan_->shape;
    log_->say(fmt::format(
        "{}: {} with {} parameters on {} worker{} x {} thread{}, batch {} ({} a micro-step), {} "
        "steps of {} an epoch",
        job_.name, name_of(job_.model.kind), replica_->parameter_count(), place_.world,
        place_.world == 1 ? "" : "s", threads_, threads_ == 1 ? "" : "s", shape.batch,
        shape.capacity, shape.total_steps, shape.steps_per_epoch));
    if (const std::int64_t dropped = train_loader_->plan().dropped(); dropped > 0) {
      log_->say(
          fmt::format("{} of {} training samples are left out of each epoch, another choice each "
                      "time: the batch "
                      "does not divide the epoch",
                      dropped, datasets_.train->size()));
    }
    metrics::Summary& summary = log_->summary();
    summary.world = place_.world;
    summary.model.parameters = replica_->parameter_count();
    summary.plan_hash = plan_json().at("hash").get<std::string>();
  }

  TrainEnd run_steps() {
    const std::int64_t total = plan_->shape.total_steps;
    while (point_.step < total) {
      if (interrupts_ && interrupts_->interrupted()) return TrainEnd::interrupted;
      train_step();
      const bool last = point_.step == total;
      if (log_) show_step(last);
      const bool evaluates =
          datasets_.eval &&
          (last || (job_.eval_every_steps > 0 && point_.step % job_.eval_every_steps == 0));
      const bool saves =
          job_.checkpoint && (last || point_.step % job_.checkpoint->every_steps == 0);
      if ((evaluates || saves) && job_.batch_norm == BatchNorm::local) replica_->average_buffers();
      if (evaluates && !evaluate()) return TrainEnd::interrupted;
      if (saves && checkpoints_) save();
      if (log_ && (evaluates || saves)) {  // for the case that the run is killed
        fill_summary();
        log_->write_summary();
      }
    }
    return TrainEnd::done;
  }

  void train_step() {
    StepTime time;
    const auto begin = steady_clock::now();
    const double data_before = train_loader_->wait_seconds();
    const double peer_before = group_->time().peer_wait;
    for (std::int64_t micro = 0; micro < job_.accumulate; ++micro) {
      const engine::RunTime run = replica_->run_micro_step(train_loader_->next());
      time.run.forward += run.forward;
      time.run.backward += run.backward;
      time.run.update += run.update;
      time.run.exposed += run.exposed;
      time.run.stolen += run.stolen;
    }
    time.total = duration<double>(steady_clock::now() - begin).count();
    time.data_wait = train_loader_->wait_seconds() - data_before;
    time.peer_wait = group_->time().peer_wait - peer_before;
    const engine::StepState& state = replica_->state();
    if (state.skip != 0) {
      train_loader_->seek({point_.epoch, point_.step_in_epoch});
      explain_divergence(*replica_, *group_, *train_loader_,
                         {point_.step + 1, job_.accumulate, place_.rank});
    }
    statistics_.add(time);
    loss_sum_ += state.loss_sum;
    weight_sum_ += state.weight_sum;
    point_.step += 1;
    point_.applied = static_cast<std::int64_t>(state.applied);
    const data::Position next = train_loader_->position();
    point_.epoch = next.epoch;
    point_.step_in_epoch = next.step;
  }

  void show_step(bool last) {
    if (last || point_.step % job_.log_every_steps == 0) return log_step();
    const engine::StepState& state = replica_->state();
    log_->advance(point_.step, plan_->shape.total_steps, state.loss_sum / state.weight_sum);
  }

  void log_step() {
    const StepStatistics::Interval interval = statistics_.interval();
    const engine::StepState& state = replica_->state();
    log_->step(
        {.step = point_.step,
         .total_steps = plan_->shape.total_steps,
         .epoch =
             static_cast<double>(point_.step) / static_cast<double>(plan_->shape.steps_per_epoch),
         .loss = loss_sum_ / weight_sum_,
         .learning_rate = static_cast<double>(state.learning_rate),
         .gradient_norm =
             job_.optimizer.clip_norm ? std::optional(std::sqrt(state.squared_norm)) : std::nullopt,
         .samples = labels_seen() / plan_->shape.sample.labels(),
         .tokens = plan_->shape.sample.is_window() ? std::optional(labels_seen()) : std::nullopt,
         .flops_of_ceiling = flops_of_step(*plan_, static_cast<int>(job_.accumulate)) *
                             static_cast<double>(place_.world) / ceiling_,
         .interval = interval});
    loss_sum_ = weight_sum_ = 0;
  }

  // Since the last logged step, of all workers, also where this one has seen its own share only.
  [[nodiscard]] std::int64_t labels_seen() const {
    return static_cast<std::int64_t>(weight_sum_) * place_.world / group_->world();
  }

  // False where it was interrupted.
  [[nodiscard]] bool evaluate() {
    if (!eval_loader_) {
      eval_loader_ = make_loader(job_, *datasets_.eval, {group_->rank(), group_->world()},
                                 data::Mode::evaluation);
    }
    eval_loader_->seek({0, 0});
    std::array<double, 3> totals{};
    for (std::int64_t step = 0; step < eval_loader_->plan().steps_per_epoch(); ++step) {
      if (interrupts_ && interrupts_->interrupted()) return false;
      replica_->evaluate(eval_loader_->next(), totals);
    }
    group_->stream().wait(group_->all_reduce({totals.data(), totals.size(), engine::DType::f64},
                                             collectives::ReduceOp::sum));
    if (log_) {
      log_->evaluation(point_.step,
                       {.loss = totals[0] / totals[1],
                        .accuracy = totals[2] / totals[1],
                        // The last window of a set may have fewer labels.
                        .samples = static_cast<std::int64_t>(std::ceil(
                            totals[1] / static_cast<double>(plan_->shape.sample.labels())))});
    }
    return true;
  }

  // The other ranks cannot change what is being written: their next update waits for this rank.
  void save() {
    const Snapshot snapshot(*replica_, point_,
                            {.job = to_json(job_),
                             .plan_json = plan_json().dump(2) + "\n",
                             .vocabulary = plan_->shape.vocabulary});
    const checkpoint::SaveResult result = checkpoints_->save(point_.step, snapshot.content());
    for (const std::string& message : result.messages) log_->say(message);
    if (!result.ok()) {
      log_->say(fmt::format(
          "warning: no checkpoint at step {}: {}; training goes on, the last good one is kept",
          point_.step, result.problem));
    }
  }

  void fill_summary() {
    fill_from_plan(log_->summary(), *plan_, job_.parallel.synchronise ? place_.local_world : 1);
    fill_from_run(log_->summary(), *plan_,
                  {.world = place_.world,
                   .accumulate = job_.accumulate,
                   .steps = point_.step,
                   .steps_here = point_.step - first_step_,
                   .seconds = statistics_.total_seconds(),
                   .ceiling = ceiling_});
    log_->summary().step_ms = statistics_.summary();
    log_->summary().restarts = place_.generation;
    log_->summary().backend = std::string(group_->backend());
  }

  const Job& job_;
  WorkerPlace place_;
  int threads_;
  std::ostream& out_;
  std::optional<InterruptWatch> interrupts_;
  Datasets datasets_;
  Worker worker_;
  collectives::Communicator* group_ = nullptr;
  KernelChoice kernel_choice_ = best_kernels();
  engine::KernelTable kernels_;
  std::optional<JobPlan> plan_;
  std::optional<Replica> replica_;
  std::unique_ptr<data::Loader> train_loader_;
  std::unique_ptr<data::Loader> eval_loader_;
  std::optional<RunLog> log_;  // rank 0
  checkpoint::PosixFileSystem files_;
  std::optional<checkpoint::CheckpointStore> checkpoints_;  // rank 0
  ResumePoint point_;
  std::int64_t first_step_ = 0;
  StepStatistics statistics_;
  double loss_sum_ = 0;
  double weight_sum_ = 0;
  double ceiling_ = 0;  // FLOP/s of large products on all workers, measured at the start
};

}  // namespace

namespace {

// The plan's nodes, timed on this machine on one worker alone.
// `kernels`: those that the plan was made with.
std::string measured(const Job& job, const JobPlan& plan, const data::Source& source,
                     engine::KernelTable kernels) {
  constexpr int kSteps = 5;
  engine::cpu::flush_denormals();
  const WorkerPlace place = place_from_environment();
  const double ceiling = engine::matrix_ceiling(plan.ops, kernels, precision_of(job.precision));
  const auto alone = collectives::host::make_host_communicator({});
  parallel::add_kernels(kernels, *alone);
  Replica replica(plan.compiled, kernels, *alone, static_cast<int>(job.accumulate));
  replica.initialise(job.seed);
  const auto loader = make_loader(job, source, {place.rank, place.world}, data::Mode::training);
  for (std::int64_t micro = 0; micro + 1 < job.accumulate; ++micro) {
    replica.run_micro_step(loader->next());
  }
  const data::Batch& last = loader->next();
  return "\n# measured\n" + timed_plan(plan, node_times(replica, last, kSteps), ceiling);
}

}  // namespace

TrainEnd train(const Job& job, const TrainOptions& options, std::ostream& out) {
  return Trainer(job, out).run(options);
}

std::string dump(const Job& job, Dump what) {
  const WorkerPlace place = place_from_environment();
  const Datasets datasets = open_datasets(job, needs_of(job));
  const engine::KernelTable kernels = engine::cpu::kernels(compute_threads(place));
  const JobPlan plan = plan_job(
      job, shape_of(job, datasets, place.world, job.parallel.synchronise ? place.world : 1),
      kernels);
  return dump(plan, what) +
         (what == Dump::plan ? measured(job, plan, *datasets.train, kernels) : "");
}

}  // namespace lockstep::runtime
