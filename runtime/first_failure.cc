#include "runtime/first_failure.h"

#include <fmt/format.h>

#include <stdexcept>

namespace lockstep::runtime {

double least(collectives::Communicator& group, double number) {
  group.stream().wait(
      group.all_reduce({&number, 1, engine::DType::f64}, collectives::ReduceOp::min));
  return number;
}

void wait_for_the_end_of(collectives::Communicator& group, int rank) {
  group.barrier();  // ends with that rank's failure
  throw std::runtime_error(fmt::format("rank {} failed", rank));
}

}  // namespace lockstep::runtime
