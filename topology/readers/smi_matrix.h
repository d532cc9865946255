// The matrices that `nvidia-smi topo` prints, of whatever its cells say.
//
// A row is taken only if it is known to be in place: as many cells as the header has devices, each
// of them a word that may stand there, and "X" exactly where the row meets its own column. Every
// other row is refused with a finding, so that no cell is ever read in its neighbour's column.
// Headers and rows that a terminal wrapped are joined, cells that grew together are parted where
// there is one way to do so. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "topology/readers/notes.h"
#include "topology/readers/reading.h"

namespace lockstep::topology {

// The length of the longest cell that stands at the front of `text`; 0: none does.
using CellLength = std::size_t (*)(std::string_view text);

struct SmiRow {
  std::size_t device = 0;          // position in the header
  std::vector<std::string> cells;  // one a device of the header
  std::string tail;                // what follows the cells, blanks and tabs kept
  std::size_t tail_column = 0;     // where in the line `tail` begins
  int line = 0;
};

// A column that is not of a device: "CPU Affinity", "NUMA Affinity", "GPU NUMA ID".
struct SmiColumn {
  std::string_view name;   // of static life
  std::size_t column = 0;  // where in the header's line it begins; npos: the header was wrapped
};

struct SmiMatrix {
  std::string command;  // what follows "topo " in the command above it; empty where none is shown
  std::vector<std::string> devices;
  std::vector<SmiColumn> columns;
  std::vector<SmiRow> rows;  // at most one a device, in the recording's order
  int line = 0;
};

inline constexpr std::size_t kMaxSmiDevices = 256;

// All matrices in the text. Errors: ReadError for a header that names more devices than that.
[[nodiscard]] std::vector<SmiMatrix> read_smi_matrices(const Recording& recording,
                                                       CellLength cell_length, Notes& notes);

// Whether `text` has a header and below it a row with such a cell beside its "X".
[[nodiscard]] bool has_smi_matrix(std::string_view text, CellLength cell_length);

}  // namespace lockstep::topology
