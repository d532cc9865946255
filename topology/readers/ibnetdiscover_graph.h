// The nodes and links of ibnetdiscover output, as its lines have them.
//
// Thread rule: a value, which views the recording that it was read from.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/readers/ibnetdiscover_line.h"
#include "topology/readers/notes.h"
#include "topology/readers/reading.h"

namespace lockstep::topology {

struct FabricPortRecord {
  FabricPortLine says;
  int line = 0;
};

struct FabricNodeRecord {
  FabricNodeLine says;
  int line = 0;
  std::vector<FabricPortRecord> ports;  // in order of their numbers
};

struct FabricGraph {
  std::vector<FabricNodeRecord> nodes;
  std::unordered_map<std::string_view, std::size_t> by_id;
};

// Errors: ReadError, for a damaged line that is not the last one, nodes and ports that stand twice,
// and more nodes than a subnet can have. REQUIRES: `recording` outlives the graph.
[[nodiscard]] FabricGraph read_graph(const Recording& recording, Notes& notes);

}  // namespace lockstep::topology
