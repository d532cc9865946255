#include "topology/readers/smi_p2p.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "topology/readers/lines.h"
#include "topology/readers/notes.h"
#include "topology/readers/smi_matrix.h"

namespace lockstep::topology {
namespace {

// No cell is the beginning of a later one.
constexpr std::array<std::string_view, 7> kStates{"X", "OK", "CNS", "GNS", "TNS", "NS", "U"};

std::size_t state_length(std::string_view text) {
  for (const std::string_view state : kStates) {
    if (text.starts_with(state)) return state.size();
  }
  return 0;
}

// 'r' of "-p2p r"; 0 where the command was not recorded.
char capability_of(const SmiMatrix& matrix) {
  const auto parts = words(matrix.command);
  if (parts.size() < 2 || parts[0] != "-p2p") return 0;
  return std::string_view("rwnap").find(parts[1].front()) == std::string_view::npos
             ? char{0}
             : parts[1].front();
}

}  // namespace

bool is_smi_p2p(std::string_view text) {
  return has_smi_matrix(text, state_length);
}

Reading read_smi_p2p(const Recording& recording) {
  Notes notes(recording.name);
  Reading reading;
  Machine& machine = reading.machine;
  machine.sources = {"nvidia-smi-p2p"};
  for (const SmiMatrix& matrix : read_smi_matrices(recording, state_length, notes)) {
    if (matrix.rows.empty()) continue;
    machine.gpus.resize(std::max(machine.gpus.size(), matrix.devices.size()));
    const char capability = capability_of(matrix);
    if (capability == 0) {
      notes.add({.severity = Severity::info,
                 .code = "capability-assumed",
                 .message = "the recording does not say which capability was asked for; `topo -p2p "
                            "r` is assumed",
                 .remedy = "record the command with its output"},
                matrix.line);
    }
    for (const SmiRow& row : matrix.rows) {
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (i == row.device) continue;
        machine.peers.push_back({.from = {DeviceKind::gpu, static_cast<int>(row.device)},
                                 .to = {DeviceKind::gpu, static_cast<int>(i)},
                                 .capability = capability == 0 ? 'r' : capability,
                                 .status = row.cells[i]});
      }
    }
  }
  if (machine.gpus.empty()) {
    throw ReadError(recording.name, 0,
                    "rows of `nvidia-smi topo -p2p` with one cell a GPU were expected, none can be "
                    "read; record it again");
  }
  machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
