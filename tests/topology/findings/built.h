// What the tests of the rules build and ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/finding.h"
#include "topology/machine.h"

namespace lockstep::topology::test {

// A machine of which a recording tells pairs only: row i holds GPU i's labels, blanks between
// them, "X" for itself. Rows longer than there are rows go on with NICs.
[[nodiscard]] Machine matrix(const std::vector<std::string>& rows);

// "error lost-nvlink GPU3", in the order in which they were found.
[[nodiscard]] std::vector<std::string> summary(const std::vector<Finding>& findings);

}  // namespace lockstep::topology::test
