#include "topology/readers/reading.h"

#include <fmt/format.h>

namespace lockstep::topology {

ReadError::ReadError(std::string_view file, int line, std::string_view message)
    : std::runtime_error(line > 0 ? fmt::format("{}:{}: {}", file, line, message)
                                  : fmt::format("{}: {}", file, message)),
      line_(line) {}

}  // namespace lockstep::topology
