#include "topology/readers/smi_topo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topology/readers/lines.h"
#include "topology/readers/notes.h"
#include "topology/readers/smi_affinity.h"
#include "topology/readers/smi_header.h"
#include "topology/readers/smi_matrix.h"

namespace lockstep::topology {
namespace {

// SOC is what drivers before 2017 called SYS.
constexpr std::array<std::string_view, 7> kLabels{"X", "SYS", "NODE", "PHB", "PXB", "PIX", "SOC"};

constexpr int kMostPorts = 255;  // of a device

std::size_t label_length(std::string_view text) {
  if (text.starts_with("NV")) {
    std::size_t end = 2;
    while (end < text.size() && end < 5 && text[end] >= '0' && text[end] <= '9') ++end;
    return end > 2 ? end : 0;
  }
  for (const std::string_view label : kLabels) {
    if (text.starts_with(label)) return label.size();
  }
  return 0;
}

// What stands around the matrix.
struct Surroundings {
  std::map<std::string, std::string, std::less<>> nic_names;  // "NIC0" -> "mlx5_0"
  bool legend = false;                                        // explains PIX, so it is whole enough
  bool legend_of_nvlink = false;
  std::vector<int> banner;  // NICs found, NICs shown
  int banner_line = 0;
};

Surroundings read_surroundings(std::string_view text) {
  Surroundings found;
  for (Lines lines(text); lines.next();) {
    const std::string_view line = trimmed(lines.text());
    const std::size_t colon = line.find(':');
    if (line.starts_with("NIC") && colon != std::string_view::npos &&
        leading_smi_device(line).size() == colon) {
      const auto name = words(line.substr(colon + 1));
      if (name.size() == 1 && found.nic_names.size() < kMaxSmiDevices)
        found.nic_names.emplace(line.substr(0, colon), name.front());
    } else if (line.starts_with("PIX ") && line.find('=') != std::string_view::npos) {
      found.legend = true;
    } else if (line.starts_with("NV#") && line.find('=') != std::string_view::npos) {
      found.legend_of_nvlink = true;
    } else if (line.find("NICs found") != std::string_view::npos) {
      found.banner = numbers_in(line);
      found.banner_line = lines.number();
    }
  }
  return found;
}

// "mlx4_1:2" is port 2 of mlx4_1.
void set_name(Nic& nic, std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const auto port = colon == kNowhere ? std::nullopt : parse_number<int>(name.substr(colon + 1));
  const bool has_port = colon != 0 && port && *port >= 1 && *port <= kMostPorts;
  nic.name = has_port ? name.substr(0, colon) : name;
  if (has_port) nic.port = *port;
}

void add_devices(const SmiMatrix& matrix, const Surroundings& around, Machine& machine,
                 std::vector<DeviceId>& ids) {
  for (const std::string& name : matrix.devices) {
    if (is_smi_gpu(name)) {
      ids.push_back({DeviceKind::gpu, static_cast<int>(machine.gpus.size())});
      machine.gpus.emplace_back();
      continue;
    }
    ids.push_back({DeviceKind::nic, static_cast<int>(machine.nics.size())});
    Nic nic;
    const bool numbered = name.starts_with("NIC") && leading_smi_device(name) == name;
    const auto legend = around.nic_names.find(name);
    set_name(nic, legend != around.nic_names.end() ? legend->second : numbered ? "" : name);
    machine.nics.push_back(nic);
  }
}

void add_pairs(const SmiMatrix& matrix, const std::vector<DeviceId>& ids, Machine& machine,
               Notes& notes) {
  const std::size_t count = matrix.devices.size();
  std::vector<const SmiRow*> rows(count);
  for (const SmiRow& row : matrix.rows) rows[row.device] = &row;
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const std::string* const above = rows[i] != nullptr ? &rows[i]->cells[j] : nullptr;
      const std::string* const below = rows[j] != nullptr ? &rows[j]->cells[i] : nullptr;
      if (above == nullptr && below == nullptr) {
        ++unknown;
        continue;
      }
      machine.stated.push_back({ids[i], ids[j], above != nullptr ? *above : *below});
      if (above == nullptr || below == nullptr || *above == *below) continue;
      notes.add(
          {.severity = Severity::warning,
           .code = "matrix-contradicts-itself",
           .message = fmt::format("{} to {} is {} in one row and {} in the other; {} is kept",
                                  matrix.devices[i], matrix.devices[j], *above, *below, *above),
           .remedy = "record `nvidia-smi topo -m` again"},
          rows[j]->line);
    }
  }
  if (unknown > 0) {
    notes.add({.severity = Severity::info,
               .code = "rows-missing",
               .message = fmt::format("{} of {} rows of the matrix are missing, so nothing is "
                                      "known of {} pairs of devices",
                                      count - matrix.rows.size(), count, unknown),
               .remedy = "record all of `nvidia-smi topo -m`"},
              matrix.line);
  }
}

// The GPUs of a matrix are GPU0, GPU1, ... unless some were left out.
void check_numbers(const SmiMatrix& matrix, Notes& notes) {
  std::string other;
  int gpu = 0;
  for (const std::string& name : matrix.devices) {
    if (!is_smi_gpu(name)) continue;
    if (name != fmt::format("GPU{}", gpu))
      other += fmt::format("{}{} is here GPU{}", other.empty() ? "" : ", ", name, gpu);
    ++gpu;
  }
  if (other.empty()) return;
  notes.add({.severity = Severity::info,
             .code = "numbers-differ",
             .message = fmt::format("GPUs are counted as they stand in the recording: {}", other)},
            matrix.line);
}

void check_nvlink_shown(const SmiMatrix& matrix, const Surroundings& around, Machine& machine,
                        Notes& notes) {
  const bool seen = std::ranges::any_of(
      machine.stated, [](const StatedPath& path) { return path.label.starts_with("NV"); });
  const bool commanded = matrix.command == "-mp" || matrix.command.starts_with("-mp ");
  if (seen || (!commanded && (!around.legend || around.legend_of_nvlink))) return;
  notes.add({.severity = Severity::info,
             .code = "nvlink-not-shown",
             .message = "this is `nvidia-smi topo -mp`, which shows PCIe only: NVLink between the "
                        "GPUs is unknown, not absent",
             .remedy = "record `nvidia-smi topo -m` as well"},
            matrix.line);
}

void check_banner(const Surroundings& around, std::size_t shown, Notes& notes) {
  if (around.banner.empty()) return;
  const auto found = static_cast<std::size_t>(around.banner.front());
  if (found <= shown) return;
  notes.add({.severity = Severity::warning,
             .code = "nics-not-shown",
             .message = fmt::format("nvidia-smi found {} NICs and shows {} of them", found, shown),
             .remedy = "read the others from `ibdev2netdev` or /sys/class/infiniband; virtual "
                       "functions that no job uses can be removed"},
            around.banner_line);
}

}  // namespace

bool is_smi_topo(std::string_view text) {
  return has_smi_matrix(text, label_length);
}

Reading read_smi_topo(const Recording& recording) {
  Notes notes(recording.name);
  const std::vector<SmiMatrix> matrices = read_smi_matrices(recording, label_length, notes);
  const auto usable = [](const SmiMatrix& matrix) { return !matrix.rows.empty(); };
  const auto found = std::ranges::find_if(matrices, usable);
  if (found == matrices.end()) {
    throw ReadError(
        recording.name, matrices.empty() ? 0 : matrices.front().line,
        "rows of `nvidia-smi topo -m` with one cell a device were expected, none can be "
        "read; record it again");
  }
  const SmiMatrix& matrix = *found;
  const Surroundings around = read_surroundings(recording.text);
  Reading reading;
  Machine& machine = reading.machine;
  machine.sources = {"nvidia-smi-topo"};
  std::vector<DeviceId> ids;
  add_devices(matrix, around, machine, ids);
  add_pairs(matrix, ids, machine, notes);
  read_smi_affinities(matrix, machine, notes);
  check_numbers(matrix, notes);
  check_nvlink_shown(matrix, around, machine, notes);
  check_banner(around, machine.nics.size(), notes);
  if (std::ranges::count_if(matrices, usable) > 1) {
    notes.add({.severity = Severity::warning,
               .code = "more-matrices",
               .message = "the file holds several matrices; the first is read",
               .remedy = "keep one file a host"});
  }
  machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
