#include "engine/executor.h"

#include <fmt/format.h>

#include <chrono>

#include "engine/error.h"
#include "engine/verify.h"

namespace lockstep::engine {
namespace {

Sharing sharing_of(Arena arena) {
  switch (arena) {
    case Arena::gradients:
      return Sharing::exchanged;
    case Arena::parameters:
    case Arena::optimizer:
      return Sharing::host;
    default:
      return Sharing::own;
  }
}

class Stopwatch {
 public:
  // Seconds since the last lap.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

double& share_of(RunTime& time, Phase phase) {
  switch (phase) {
    case Phase::forward:
      return time.forward;
    case Phase::backward:
      return time.backward;
    default:
      return time.update;
  }
}

}  // namespace

Arenas::Arenas(const ArenaBytes& bytes, MemorySource& source) {
  for (std::size_t i = 0; i < kArenas; ++i) {
    const auto arena = static_cast<Arena>(i);
    if (bytes[i] > 0) spans_[i] = source.allocate(name_of(arena), bytes[i], sharing_of(arena));
  }
}

Program::Program(Plan plan, const KernelTable& kernels, const Arenas& arenas)
    : plan_(std::move(plan)), arenas_(arenas) {
  verify(plan_);
  events_.resize(static_cast<std::size_t>(plan_.events));
  event_stream_.resize(events_.size());
  for (const Entry& entry : plan_.entries) {
    const Node& node = plan_.node(entry);
    Binding binding{.graph = plan_.graph, .node = node};
    for (ValueId id : node.inputs) {
      binding.inputs.push_back(id.valid() ? bytes(id).data() : nullptr);
    }
    for (ValueId id : node.outputs) binding.outputs.push_back(bytes(id).data());
    if (node.workspace.valid()) binding.workspace = bytes(node.workspace).data();
    steps_.push_back(
        {kernels.find(node.op).bind(binding), node.stream, node.phase, entry.waits, entry.records});
    if (entry.records >= 0) event_stream_[static_cast<std::size_t>(entry.records)] = node.stream;
  }
}

std::span<std::byte> Program::bytes(ValueId id) const {
  const Placement& place = plan_.placements.at(static_cast<std::size_t>(id.index));
  if (!place.used) {
    throw Error(
        fmt::format("value \"{}\" has no place in this program", plan_.graph.value(id).name));
  }
  return arenas_[place.arena].subspan(place.offset, place.bytes);
}

RunTime Program::run(Stream& compute, Stream& communication) {
  RunTime time;
  Stopwatch watch;
  auto stream_of = [&](StreamKind kind) -> Stream& {
    return kind == StreamKind::compute ? compute : communication;
  };
  for (Step& step : steps_) {
    for (int event : step.waits) {
      const auto i = static_cast<std::size_t>(event);
      // Work on the communication stream is enqueued, not waited for here: its calls are made by
      // this thread after the compute nodes before it have run.
      if (step.stream == StreamKind::compute) stream_of(event_stream_[i]).wait(events_[i]);
    }
    if (!step.waits.empty()) time.exposed += watch.lap();
    step.kernel();
    if (step.records >= 0) {
      events_[static_cast<std::size_t>(step.records)] = stream_of(step.stream).record();
    }
    if (step.stream == StreamKind::compute) share_of(time, step.phase) += watch.lap();
    communication.progress();
    time.stolen += watch.lap();
  }
  communication.wait(communication.record());
  time.exposed += watch.lap();
  return time;
}

void Program::run_checked(Stream& compute, Stream& communication,
                          const std::function<void(const Node&)>& after) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].kernel();
    compute.wait(compute.record());
    communication.wait(communication.record());
    after(plan_.node(plan_.entries[i]));
  }
}

}  // namespace lockstep::engine
