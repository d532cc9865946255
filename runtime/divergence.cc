#include "runtime/divergence.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "runtime/fault_search.h"
#include "runtime/first_failure.h"

namespace lockstep::runtime {
namespace {

// A fault's place among all ranks' as one number, which a double holds exactly.
constexpr double kMostNodes = 1e6;
constexpr double kMostRanks = 1e5;

double order_of(std::int64_t micro, std::int64_t place, int rank) {
  return (static_cast<double>(micro) * kMostNodes + static_cast<double>(place)) * kMostRanks +
         static_cast<double>(rank);
}

int rank_of(double order) {
  return static_cast<int>(std::fmod(order, kMostRanks));
}

}  // namespace

void explain_divergence(Replica& replica, collectives::Communicator& group, data::Loader& loader,
                        const DivergedStep& step) {
  constexpr double kNone = std::numeric_limits<double>::max();
  std::optional<Fault> fault;
  double mine = kNone;
  for (std::int64_t micro = 0; micro < step.accumulate; ++micro) {
    std::optional<Fault> found = find_fault(replica, loader.next());
    if (found && !fault) {
      mine = order_of(micro, found->place, group.rank());
      fault = std::move(found);
    }
  }
  const double first = least(group, mine);
  const std::string where =
      fmt::format("step {}: the loss is not finite; no parameter was changed", step.number);
  if (first == kNone) {
    if (group.rank() != 0) wait_for_the_end_of(group, 0);
    throw DivergedError(
        where +
        ". Run again node by node, every value is finite: the sum over the batch overflows");
  }
  if (!fault || mine != first) wait_for_the_end_of(group, rank_of(first));
  throw DivergedError(
      fmt::format("{}. On rank {}, {}. Lower the learning rate (now {:g}) or set "
                  "optimizer.clip_norm; look at the data if it happens at once",
                  where, step.rank, fault->message, replica.state().learning_rate));
}

}  // namespace lockstep::runtime
