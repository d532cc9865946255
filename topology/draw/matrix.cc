#include "topology/draw/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "topology/draw/labels.h"

namespace lockstep::topology {
namespace {

// Of the words that are not the name of a kind.
constexpr std::array kLegend{
    std::pair{std::string_view("X"), std::string_view("itself")},
    std::pair{std::string_view("NV#"), std::string_view("# NVLinks")},
    std::pair{std::string_view("NODE"), std::string_view("between root ports of one NUMA node")},
    std::pair{std::string_view("?"), std::string_view("not known")},
};

std::string legend_key(const std::string& text) {
  const bool numbered = text.size() > 2 && text.starts_with("NV") &&
                        text.find_first_not_of("0123456789", 2) == std::string::npos;
  return numbered ? "NV#" : text;
}

std::string_view meaning(std::string_view key) {
  for (const auto& [word, sense] : kLegend) {
    if (word == key) return sense;
  }
  const auto kind = parse_path_kind(key);
  return kind ? meaning_of(*kind) : "as the recording has it";
}

// Columns as wide as their widest cell, two blanks between them.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    if (width.size() < row.size()) width.resize(row.size());
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += fmt::format("{:<{}}", row[c], width[c] + 2);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string cpus_of(const Machine& machine, const Gpu& gpu) {
  if (gpu.cpus && !gpu.cpus->empty()) return plain(gpu.cpus->to_list());
  const NumaNode* node = gpu.numa ? find_numa(machine, *gpu.numa) : nullptr;
  return node != nullptr && !node->cpus.empty() ? plain(node->cpus.to_list()) : "?";
}

}  // namespace

std::string draw_matrix(const Machine& machine, const PathTable& paths) {
  if (machine.gpus.empty()) return {};
  std::vector<DeviceId> devices;
  for (int i = 0; i < static_cast<int>(machine.gpus.size()); ++i)
    devices.push_back({DeviceKind::gpu, i});
  for (int i = 0; i < static_cast<int>(machine.nics.size()); ++i)
    devices.push_back({DeviceKind::nic, i});

  std::vector<std::vector<std::string>> rows(1, {""});
  for (const DeviceId device : devices) rows[0].push_back(to_string(device));
  rows[0].insert(rows[0].end(), {"CPU Affinity", "NUMA"});
  std::set<std::string> seen;
  for (const DeviceId row : devices) {
    std::vector<std::string> line{to_string(row)};
    for (const DeviceId column : devices) {
      line.push_back(label_of(paths.between(row, column)));
      seen.insert(legend_key(line.back()));
    }
    if (row.kind == DeviceKind::gpu) {
      const Gpu& gpu = machine.gpus[static_cast<std::size_t>(row.index)];
      line.insert(line.end(),
                  {cpus_of(machine, gpu), gpu.numa ? fmt::format("{}", *gpu.numa) : "?"});
    }
    rows.push_back(std::move(line));
  }
  std::string text = aligned(rows) + "\n";
  for (const std::string& key : seen) text += fmt::format("{:<5} {}\n", key, meaning(key));
  if (!machine.nics.empty()) text += "\n";
  for (std::size_t i = 0; i < machine.nics.size(); ++i)
    text += fmt::format("NIC{}: {}\n", i, plain(machine.nics[i].name));
  return text;
}

}  // namespace lockstep::topology
