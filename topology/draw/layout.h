// Where everything of a machine's picture goes.
//
// From the top: the host's name; NUMA nodes side by side, in each its PCIe switches level by level,
// then a row of NICs and a row of GPUs that are aligned over the whole picture; below the GPUs what
// joins them (the NVSwitches as one bar, or direct links in lanes); the matrix of paths, where the
// recording has no links that say it; legend; findings. Thread rule: pure functions.
#pragma once

#include "topology/draw/canvas.h"
#include "topology/draw/forest.h"
#include "topology/draw/picture.h"
#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

// Cost: linear in devices and links, but for the matrix, which has kMostInMatrix devices at most.
[[nodiscard]] Picture lay_out(const Machine& machine, const PathTable& paths);

inline constexpr int kMostInMatrix = 48;

// The parts of it. Each draws from `top` down and returns where it ended.

// How wide the trees are, and a column of them.
struct TreeRoom {
  double column = 0, width = 0;
};
[[nodiscard]] TreeRoom tree_room(const Forest& forest);
[[nodiscard]] double lay_out_trees(Canvas& canvas, const Forest& forest, double top);

// NVSwitches, and links between GPUs.
[[nodiscard]] double lay_out_fabric(Canvas& canvas, double top);

struct Sheet {
  double width = 0, top = 0;
};
[[nodiscard]] double lay_out_matrix(Canvas& canvas, const PathTable& paths, Sheet sheet);
// What the kinds of links and, below a matrix, of paths look like.
enum class WithMatrix { no, yes };
[[nodiscard]] double lay_out_legend(Canvas& canvas, const PathTable& paths, WithMatrix matrix,
                                    Sheet sheet);
[[nodiscard]] double lay_out_findings(Canvas& canvas, Sheet sheet);

}  // namespace lockstep::topology
