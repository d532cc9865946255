#include "runtime/node_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace lockstep::runtime {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct OpTotal {
  double seconds = 0, flops = 0, bytes = 0;
  int nodes = 0;
};

// "2304.0 us   12.30 GFLOP  98.7 GFLOP/s   9.2 MB   4.0 GB/s"
std::string rates(double seconds, double flops, double bytes) {
  return fmt::format("{:10.1f} us {:9.3f} GFLOP {:8.1f} GFLOP/s {:9.3f} MB {:7.2f} GB/s",
                     1e6 * seconds, flops / 1e9, flops / seconds / 1e9, bytes / 1e6,
                     bytes / seconds / 1e9);
}

}  // namespace

std::vector<double> node_times(Replica& replica, const data::Batch& batch, int steps) {
  using std::chrono::steady_clock;
  std::vector<std::vector<double>> seconds;
  for (int step = 0; step < steps; ++step) {
    std::size_t node = 0;
    auto last = steady_clock::now();
    replica.check_micro_step(batch, [&](const engine::Graph&, const engine::Node&) {
      const auto now = steady_clock::now();
      if (node == seconds.size()) seconds.emplace_back();
      seconds[node++].push_back(std::chrono::duration<double>(now - last).count());
      last = steady_clock::now();
    });
  }
  std::vector<double> medians;
  for (std::vector<double>& times : seconds) medians.push_back(median(std::move(times)));
  return medians;
}

std::string timed_plan(const JobPlan& plan, const std::vector<double>& seconds, double ceiling) {
  const engine::Plan& ending = ending_plan(plan);
  std::map<std::string, OpTotal> totals;
  OpTotal all;
  double product_flops = 0;
  std::string text;
  for (std::size_t i = 0; i < ending.entries.size(); ++i) {
    const engine::Node& node = ending.node(ending.entries[i]);
    const engine::OpDefinition& op = plan.ops.find(node.op);
    const engine::Cost cost = op.cost(ending.graph, node);
    const bool product = op.precision == engine::PrecisionClass::low;
    text += fmt::format("{:4} {:8} {:44} {}", i, name_of(node.phase), node.name,
                        rates(seconds[i], cost.flops, cost.bytes));
    if (product) text += fmt::format(" {:5.1f}%", 100 * cost.flops / seconds[i] / ceiling);
    text += '\n';
    if (product) product_flops += cost.flops;
    for (OpTotal* total : {&totals[node.op], &all}) {
      total->seconds += seconds[i];
      total->flops += cost.flops;
      total->bytes += cost.bytes;
      total->nodes += 1;
    }
  }
  std::vector<std::pair<std::string, OpTotal>> by_time(totals.begin(), totals.end());
  std::ranges::sort(
      by_time, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  text += fmt::format("\nby op, of {:.2f} ms:\n", 1e3 * all.seconds);
  for (const auto& [op, total] : by_time) {
    text += fmt::format("{:5.1f}% {:4} x {:38} {}\n", 100 * total.seconds / all.seconds,
                        total.nodes, op, rates(total.seconds, total.flops, total.bytes));
  }
  return text + fmt::format(
                    "{:.1f} GFLOP of products a step at a ceiling of {:.1f} GFLOP/s: at least "
                    "{:.2f} ms, {:.1f}% of the nodes' {:.2f} ms\n",
                    product_flops / 1e9, ceiling / 1e9, 1e3 * product_flops / ceiling,
                    100 * product_flops / ceiling / all.seconds, 1e3 * all.seconds);
}

}  // namespace lockstep::runtime
