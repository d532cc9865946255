#include "runtime/parallel/communicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/parallel/trained_parameter.h"

namespace lockstep::runtime::parallel {
namespace {

using engine::Bucket;
using engine::Graph;
using engine::Integers;
using engine::Node;
using engine::OpTable;
using engine::Phase;
using engine::Role;
using engine::StreamKind;
using engine::ValueId;

class Rewriter {
 public:
  Rewriter(Graph graph, const OpTable& ops, const engine::PersistentPlacement& placement,
           const DataParallelOptions& options)
      : graph_(std::move(graph)), ops_(ops), buckets_(placement.buckets()), options_(options) {}

  Graph run() {
    const std::vector<Node> scheduled = graph_.nodes();
    plan_starts(scheduled);
    for (std::size_t i = 0; i < scheduled.size(); ++i) {
      const Node& node = scheduled[i];
      if (node.phase == Phase::refresh) {
        refresh_.push_back(node);
      } else if (is_update(node) || node.op == "clip_scale") {
        continue;  // the buckets' own nodes do it
      } else if (node.phase == Phase::update) {
        tail_.push_back(node);
      } else {
        append(node);
        if (node.op == "control_word") exchange_early_word(node.outputs[0]);
        if (options_.batch_norm == BatchNormPolicy::synchronised) exchange_statistics(node);
      }
      start_buckets(static_cast<int>(i));
    }
    for (Start& start : starts_) wait_and_refresh(start);
    for (const std::vector<Node>* rest : {&refresh_, &tail_}) {
      for (const Node& node : *rest) append(node);
    }
    Graph result = std::move(graph_);
    result.set_nodes(std::move(nodes_));
    return result;
  }

 private:
  struct Start {
    std::string name;
    int after = -1;
    std::vector<const TrainedParameter*> members;  // as the bucket lists them
    std::vector<ValueId> landed;  // new parameters, as the bucket's last node gives them
  };

  void plan_starts(const std::vector<Node>& scheduled) {
    trained_ = trained_parameters(graph_);
    if (trained_.empty()) return;  // not the program that ends a step
    int last_backward = -1;
    for (std::size_t i = 0; i < scheduled.size(); ++i) {
      if (scheduled[i].op == "clip_scale") clip_ = scheduled[i];
      if (scheduled[i].phase == Phase::backward) last_backward = static_cast<int>(i);
    }
    std::map<std::string, const TrainedParameter*> by_name;
    for (const TrainedParameter& parameter : trained_) by_name[parameter.name] = &parameter;
    int after = -1;
    for (const Bucket& bucket : buckets_) {
      Start start{.name = fmt::format("bucket{}", starts_.size())};
      for (const std::string& name : bucket.parameters) {
        start.members.push_back(by_name.at(name));
        after =
            std::max(after, by_name.at(name)->ready);  // reductions start in one order everywhere
      }
      start.after = options_.overlap ? after : last_backward;
      starts_.push_back(std::move(start));
    }
  }

  // Emits through the graph, so that shapes are inferred, and keeps the node for the new list.
  std::vector<ValueId> add(Node node) {
    std::vector<ValueId> outputs = engine::emit(graph_, ops_, std::move(node));
    nodes_.push_back(graph_.nodes().back());
    return outputs;
  }

  // Appends a node of the old list, reading what has been renewed since.
  void append(Node node) {
    for (ValueId& id : node.inputs) {
      if (auto it = renewed_.find(id); it != renewed_.end()) id = it->second;
    }
    nodes_.push_back(std::move(node));
  }

  void exchange_early_word(ValueId word) {
    const ValueId sum = add({.op = "early_word",
                             .name = "early_word",
                             .inputs = {word},
                             .outputs = {},
                             .phase = Phase::update,
                             .stream = StreamKind::communication})[0];
    renewed_[word] = sum;
    early_ = sum;
  }

  // Local sums stay local for gamma's and beta's gradients, which are summed with their bucket.
  void exchange_statistics(const Node& node) {
    if (node.op != "batch_norm_statistics" && node.op != "batch_norm_parameter_gradients") return;
    const ValueId sums = node.op == "batch_norm_statistics" ? node.outputs[0] : node.inputs[0];
    renewed_[sums] = add({.op = "all_reduce_statistics",
                          .name = node.name + ".all_reduce",
                          .inputs = {sums},
                          .outputs = {},
                          .phase = node.phase})[0];
  }

  void start_buckets(int position) {
    bool all_started = true;
    for (std::size_t b = 0; b < starts_.size(); ++b) {
      if (starts_[b].after == position) start(b);
      all_started = all_started && starts_[b].after <= position;
    }
    if (clip_ && all_started && !late_.valid() && !starts_.empty()) update_all();
  }

  [[nodiscard]] int states() const { return trained_.front().update.op == "sgd" ? 1 : 2; }

  // gradients, weights, states (one kind after the other), state, early, [late]
  std::vector<ValueId> operands(const Start& start, bool gradients_only) {
    std::vector<ValueId> inputs;
    auto push = [&](std::size_t operand) {
      for (const TrainedParameter* member : start.members)
        inputs.push_back(current(member->update.inputs[operand]));
    };
    push(1);
    if (gradients_only) return inputs;
    push(0);
    for (int part = 0; part < states(); ++part) push(static_cast<std::size_t>(2 + part));
    const Node& any = start.members.front()->update;
    inputs.push_back(current(any.inputs[any.inputs.size() - 3]));
    inputs.push_back(early_);
    if (late_.valid()) inputs.push_back(late_);
    return inputs;
  }

  [[nodiscard]] ValueId current(ValueId id) const {
    auto it = renewed_.find(id);
    return it == renewed_.end() ? id : it->second;
  }

  // A bucket as its kernel sees it: elements relative to the bucket's begin.
  engine::Attributes attributes(std::size_t b, const Start& start, bool fused) const {
    const Node& any = start.members.front()->update;
    engine::Attributes attributes = any.attributes;
    attributes.remove("weight_decay");
    Integers offsets, counts, decayed;
    double decay = 0;
    std::int64_t offset = 0;
    for (const TrainedParameter* member : start.members) {
      const std::int64_t count = graph_.value(member->update.inputs[0]).shape.elements();
      offsets.push_back(offset);
      counts.push_back(count);
      const double own = member->update.attributes.real("weight_decay");
      decayed.push_back(own != 0);
      decay = std::max(decay, own);
      const auto alignment = static_cast<std::int64_t>(engine::kBucketAlignment);
      offset += (count + alignment - 1) / alignment * alignment;
    }
    attributes.set("bucket", static_cast<std::int64_t>(b));
    attributes.set("elements", static_cast<std::int64_t>(buckets_[b].end - buckets_[b].begin));
    attributes.set("parameters", static_cast<std::int64_t>(start.members.size()));
    attributes.set("states", std::int64_t{states()});
    attributes.set("rule", any.op);
    attributes.set("fused", std::int64_t{fused});
    attributes.set("weight_decay", decay);
    attributes.set("offsets", offsets);
    attributes.set("counts", counts);
    attributes.set("decayed", decayed);
    return attributes;
  }

  void start(std::size_t b) {
    Start& start = starts_[b];
    const bool fused = !clip_;
    std::vector<ValueId> outputs = add({.op = "reduce_start",
                                        .name = start.name + ".reduce_start",
                                        .inputs = operands(start, !fused),
                                        .outputs = {},
                                        .attributes = attributes(b, start, fused),
                                        .phase = Phase::update,
                                        .stream = StreamKind::communication});
    if (fused) {
      landed(start, outputs);
    } else {
      for (std::size_t i = 0; i < start.members.size(); ++i) {
        renewed_[start.members[i]->update.inputs[1]] = outputs[i];
      }
    }
  }

  void update_all() {
    std::vector<ValueId> gradients;
    for (const Start& start : starts_) {
      for (const TrainedParameter* member : start.members)
        gradients.push_back(current(member->update.inputs[1]));
    }
    Integers elements;
    for (const Bucket& bucket : buckets_) {
      elements.push_back(static_cast<std::int64_t>(bucket.end - bucket.begin));
    }
    Integers members;
    for (const Start& start : starts_)
      members.push_back(static_cast<std::int64_t>(start.members.size()));
    late_ = add({.op = "late_word",
                 .name = "late_word",
                 .inputs = gradients,
                 .outputs = {},
                 .attributes = {{"clip_norm", clip_->attributes.real("clip_norm")},
                                {"elements", elements},
                                {"members", members}},
                 .phase = Phase::update})[0];
    renewed_[clip_->outputs[0]] = late_;
    for (std::size_t b = 0; b < starts_.size(); ++b) {
      landed(starts_[b], add({.op = "update_start",
                              .name = starts_[b].name + ".update_start",
                              .inputs = operands(starts_[b], false),
                              .outputs = {},
                              .attributes = attributes(b, starts_[b], true),
                              .phase = Phase::update,
                              .stream = StreamKind::communication}));
    }
  }

  // The updated parameters are the first of a bucket node's outputs.
  void landed(Start& start, const std::vector<ValueId>& outputs) {
    start.landed.assign(outputs.begin(),
                        outputs.begin() + static_cast<std::ptrdiff_t>(start.members.size()));
  }

  // Derived weights of a bucket are made as soon as it has landed, while later ones are under way.
  void wait_and_refresh(Start& start) {
    std::vector<ValueId> there = add({.op = "reduce_wait",
                                      .name = start.name + ".reduce_wait",
                                      .inputs = start.landed,
                                      .outputs = {},
                                      .phase = Phase::update});
    for (std::size_t i = 0; i < start.members.size(); ++i) {
      const ValueId updated = start.members[i]->update.outputs[0];
      renewed_[updated] = there[i];
      auto later = std::stable_partition(refresh_.begin(), refresh_.end(), [&](const Node& node) {
        return std::find(node.inputs.begin(), node.inputs.end(), updated) != node.inputs.end();
      });
      std::for_each(refresh_.begin(), later, [&](const Node& node) { append(node); });
      refresh_.erase(refresh_.begin(), later);
    }
  }

  Graph graph_;
  const OpTable& ops_;
  std::vector<Bucket> buckets_;
  DataParallelOptions options_;
  std::vector<TrainedParameter> trained_;
  std::optional<Node> clip_;
  std::vector<Start> starts_;
  std::vector<Node> nodes_;
  std::vector<Node> refresh_;
  std::vector<Node> tail_;  // ends of the step: running statistics, the state
  std::map<ValueId, ValueId> renewed_;
  ValueId early_;
  ValueId late_;
};

}  // namespace

std::vector<Bucket> DataParallel::buckets(const Graph& graph, const OpTable& ops) const {
  const std::vector<TrainedParameter> trained = trained_parameters(graph);
  const std::vector<double> finish = finish_times(graph, ops);
  std::vector<ReadyGradient> gradients;
  for (const TrainedParameter& parameter : trained) {
    gradients.push_back({finish.at(static_cast<std::size_t>(parameter.ready)), parameter.bytes});
  }
  std::vector<Bucket> buckets;
  std::size_t next = 0;
  for (std::size_t size : group_gradients(gradients, options_.link, options_.largest_bucket)) {
    Bucket bucket;
    for (std::size_t i = 0; i < size; ++i) bucket.parameters.push_back(trained[next++].name);
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

Graph DataParallel::communicate(Graph graph, const OpTable& ops,
                                const engine::PersistentPlacement& placement) const {
  return Rewriter(std::move(graph), ops, placement, options_).run();
}

double overlapped_share(const engine::Plan& plan) {
  // The last gradient is computed by the last backward node that writes one.
  std::size_t last_gradient = 0;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const Node& node = plan.node(plan.entries[i]);
    if (node.phase != Phase::backward) continue;
    for (ValueId id : node.outputs) {
      if (plan.graph.value(id).role == Role::gradient) last_gradient = i;
    }
  }
  double early = 0, all = 0;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const Node& node = plan.node(plan.entries[i]);
    if (node.op != "reduce_start") continue;
    const double elements = static_cast<double>(node.attributes.integer("elements"));
    all += elements;
    if (i < last_gradient) early += elements;
  }
  return all > 0 ? early / all : 0;
}

}  // namespace lockstep::runtime::parallel
