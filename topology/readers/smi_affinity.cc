#include "topology/readers/smi_affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "topology/device_id.h"
#include "topology/readers/lines.h"
#include "topology/readers/smi_header.h"

namespace lockstep::topology {
namespace {

std::string known(std::string_view text) {
  text = trimmed(text);
  return text == "N/A" || text == "-1" ? std::string() : std::string(text);
}

// nvidia-smi follows the NUMA node by two tabs, so the third column stands in the fourth cell.
std::optional<std::size_t> column_of_cell(std::size_t cell, std::size_t columns) {
  if (cell < 2 && cell < columns) return cell;
  if (cell == 3 && columns == 3) return 2;
  return std::nullopt;
}

std::optional<std::vector<std::string>> by_tabs(std::string_view tail, std::size_t columns) {
  std::vector<std::string> texts(columns);
  tail.remove_prefix(1);  // the tab that ends the last cell of the matrix
  for (std::size_t cell = 0;; ++cell) {
    const std::size_t tab = tail.find('\t');
    if (!trimmed(tail.substr(0, tab)).empty()) {
      const auto column = column_of_cell(cell, columns);
      if (!column) return std::nullopt;
      texts[*column] = known(tail.substr(0, tab));
    }
    if (tab == kNowhere) return texts;
    tail.remove_prefix(tab + 1);
  }
}

// Blanks keep what a terminal showed: a text stands below the name of its column.
std::optional<std::vector<std::string>> by_place(const SmiMatrix& matrix, const SmiRow& row) {
  constexpr std::size_t kSlack = 2;
  std::vector<std::string> texts(matrix.columns.size());
  for (const std::string_view word : words(row.tail)) {
    const std::size_t at =
        row.tail_column + static_cast<std::size_t>(word.data() - row.tail.data());
    const auto below = [at](const SmiColumn& column) {
      return column.column != kNowhere && at + kSlack >= column.column &&
             at <= column.column + kSlack;
    };
    const auto found = std::ranges::find_if(matrix.columns, below);
    if (found == matrix.columns.end()) return std::nullopt;
    texts[static_cast<std::size_t>(found - matrix.columns.begin())] = known(word);
  }
  return texts;
}

// The lowest number of a list such as "0,3-9,11-17", and whether it is more than one.
struct NodeList {
  int lowest = 0;
  bool several = false;
};

std::optional<NodeList> parse_nodes(std::string_view text) {
  const auto nodes = CpuSet::from_list(text);
  if (!nodes || nodes->empty()) return std::nullopt;
  return NodeList{.lowest = nodes->cpus().front(), .several = nodes->count() > 1};
}

void add_node(Machine& machine, int id, const std::optional<CpuSet>& cpus) {
  auto found = std::ranges::find(machine.numa, id, &NumaNode::id);
  if (found == machine.numa.end()) {
    const auto place = std::ranges::lower_bound(machine.numa, id, {}, &NumaNode::id);
    found = machine.numa.insert(place, NumaNode{.id = id});
  }
  if (!cpus) return;
  for (const int cpu : cpus->cpus()) found->cpus.add(cpu);
}

bool overlap(const CpuSet& a, const CpuSet& b) {
  return std::ranges::any_of(a.cpus(), [&b](int cpu) { return b.contains(cpu); });
}

// Old matrices have no NUMA column; where CPU sets do not overlap they are of different nodes.
void infer_nodes(Machine& machine, Notes& notes) {
  std::vector<CpuSet> sets;
  for (const Gpu& gpu : machine.gpus) {
    if (!gpu.cpus || gpu.cpus->empty() || std::ranges::find(sets, *gpu.cpus) != sets.end())
      continue;
    if (std::ranges::any_of(sets, [&](const CpuSet& set) { return overlap(set, *gpu.cpus); }))
      return;
    sets.push_back(*gpu.cpus);
  }
  if (sets.size() < 2) return;
  std::ranges::sort(sets, {}, [](const CpuSet& set) { return set.cpus().front(); });
  for (Gpu& gpu : machine.gpus) {
    if (!gpu.cpus) continue;
    const auto found = std::ranges::find(sets, *gpu.cpus);
    if (found == sets.end()) continue;
    gpu.numa = static_cast<int>(found - sets.begin());
    add_node(machine, *gpu.numa, gpu.cpus);
  }
  notes.add({.severity = Severity::info,
             .code = "numa-inferred",
             .message = fmt::format("the matrix names no NUMA nodes; its {} sets of near CPUs do "
                                    "not overlap and are taken as nodes 0 to {}",
                                    sets.size(), sets.size() - 1)});
}

// Reads one GPU's columns; false where one says what cannot be understood.
bool read_columns(const SmiMatrix& matrix, const std::vector<std::string>& texts, Gpu& gpu) {
  bool understood = true;
  std::optional<NodeList> nodes;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) continue;
    const std::string_view name = matrix.columns[i].name;
    if (name == "CPU Affinity") {
      gpu.cpus = CpuSet::from_list(texts[i]);
      understood = understood && gpu.cpus;
    } else if (name == "NUMA Affinity") {
      nodes = parse_nodes(texts[i]);
      understood = understood && nodes;
    } else {
      gpu.memory_numa = parse_number<int>(texts[i]);
      understood = understood && gpu.memory_numa;
    }
  }
  // Linux counts nodes with CPUs before those of GPUs' memory; elsewhere a list leaves it open.
  if (nodes && (!nodes->several || gpu.memory_numa)) gpu.numa = nodes->lowest;
  return understood;
}

}  // namespace

std::optional<std::vector<std::string>> split_smi_tail(const SmiMatrix& matrix, const SmiRow& row) {
  const std::vector<std::string_view> parts = words(row.tail);
  if (parts.size() == matrix.columns.size()) {
    std::vector<std::string> texts;
    for (const std::string_view part : parts) texts.push_back(known(part));
    return texts;
  }
  if (parts.empty()) return std::vector<std::string>(matrix.columns.size());
  const std::string_view tail = row.tail;
  const std::size_t first = tail.find_first_not_of(' ');
  if (tail[first] == '\t') return by_tabs(tail.substr(first), matrix.columns.size());
  return by_place(matrix, row);
}

void read_smi_affinities(const SmiMatrix& matrix, Machine& machine, Notes& notes) {
  if (matrix.columns.empty()) return;
  std::string unknown;
  int gpu = -1;
  for (std::size_t device = 0; device < matrix.devices.size(); ++device) {
    if (!is_smi_gpu(matrix.devices[device])) continue;
    ++gpu;
    const auto row = std::ranges::find(matrix.rows, device, &SmiRow::device);
    if (row == matrix.rows.end()) continue;
    Gpu& target = machine.gpus[static_cast<std::size_t>(gpu)];
    const auto texts = split_smi_tail(matrix, *row);
    if (!texts || !read_columns(matrix, *texts, target)) {
      notes.add({.severity = Severity::warning,
                 .code = "affinity-refused",
                 .message = fmt::format("the affinity of {} cannot be told from \"{}\"",
                                        matrix.devices[device], trimmed(row->tail).substr(0, 80)),
                 .remedy = "record the matrix again"},
                row->line);
    }
    if (!target.cpus && !target.numa)
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", matrix.devices[device]);
    if (target.numa) add_node(machine, *target.numa, target.cpus);
  }
  if (!unknown.empty()) {
    notes.add({.severity = Severity::info,
               .code = "affinity-unknown",
               .message = fmt::format("the matrix does not say which CPUs are near {}", unknown)});
  }
  if (machine.numa.empty()) infer_nodes(machine, notes);
}

}  // namespace lockstep::topology
