#include "topology/probe/file_tree.h"

#include <algorithm>

#include "topology/natural_order.h"

namespace lockstep::topology {

void sort_naturally(std::vector<std::string>& names) {
  std::ranges::sort(names, natural_less);
}

}  // namespace lockstep::topology
