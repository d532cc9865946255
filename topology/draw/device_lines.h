// The words inside a device's box, line by line.
//
// Thread rule: pure functions. `room` is the pixels a line may take; what does not fit is broken
// into more lines, or cut.
#pragma once

#include <vector>

#include "topology/draw/canvas.h"
#include "topology/machine.h"

namespace lockstep::topology {

[[nodiscard]] std::vector<Line> lines_of_gpu(const Gpu& gpu, int index, double room);
[[nodiscard]] std::vector<Line> lines_of_nic(const Nic& nic, int index, double room);
[[nodiscard]] std::vector<Line> lines_of_numa(const Machine& machine, int id, double room);
[[nodiscard]] Line line_of_switch(const Machine& machine, int index);
// Of the PCIe link up: "Gen5 x16", "48 GB/s", in one line where that fits. Empty: nothing is known.
[[nodiscard]] std::vector<Line> lines_of_link(const PciDevice& device, double room);

}  // namespace lockstep::topology
