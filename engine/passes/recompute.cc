#include "engine/passes.h"

namespace lockstep::engine {

Graph recompute(Graph graph, Recompute) {
  return graph;
}

}  // namespace lockstep::engine
