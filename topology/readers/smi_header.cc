#include "topology/readers/smi_header.h"

#include <algorithm>
#include <array>

#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

constexpr std::array<std::string_view, 3> kColumns{"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"};

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - from;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// RDMA devices are named by their drivers and by udev: mlx5_bond_0, bnxt_re0, rdmap16s27, rocep1s0.
// NV12 is what a cell says.
// A port may follow: mlx4_1:2.
bool may_be_device(std::string_view name) {
  const bool nvlinks = name.starts_with("NV") && digits_at(name, 2) + 2 == name.size();
  return is_letter(name.front()) && digits_at(name, name.size() - 1) == 1 && !nvlinks &&
         std::ranges::all_of(name, [](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
                  c == ':';
         });
}

}  // namespace

bool is_smi_gpu(std::string_view name) {
  return name.starts_with("GPU") && name.size() > 3 && digits_at(name, 3) == name.size() - 3;
}

std::string_view leading_smi_device(std::string_view text) {
  for (const std::string_view prefix : {"GPU", "NIC", "mlx4_", "mlx5_"}) {
    if (!text.starts_with(prefix)) continue;
    const std::size_t digits = digits_at(text, prefix.size());
    if (digits > 0) return text.substr(0, prefix.size() + digits);
  }
  return {};
}

SmiHeader parse_smi_header(std::string_view line) {
  SmiHeader header;
  std::size_t devices_end = line.size();
  for (const std::string_view name : kColumns) {
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos) continue;
    devices_end = std::min(devices_end, at);
    header.columns.push_back({.name = name, .column = at});
  }
  for (std::string_view word : words(line.substr(0, devices_end))) {
    // Names that grew together: "NIC10NIC11", "GPU7mlx5_0".
    for (std::string_view name = leading_smi_device(word);
         !name.empty() && name.size() < word.size() && is_letter(word[name.size()]);
         name = leading_smi_device(word)) {
      header.devices.push_back(name);
      word.remove_prefix(name.size());
    }
    if (!may_be_device(word)) return {};
    header.devices.push_back(word);
  }
  return header;
}

}  // namespace lockstep::topology
