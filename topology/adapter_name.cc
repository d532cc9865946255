#include "topology/adapter_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "topology/letters.h"
#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kCounted = "HCA-";  // openibd counts adapters from 1

// What the names of RDMA devices begin with: their drivers' names, and udev's stable ones.
constexpr std::array<std::string_view, 16> kDevices{
    kCounted, "mlx4_", "mlx5_", "mthca", "hfi1_", "qib", "ipath", "bnxt_re",
    "irdma",  "rocep", "roceo", "roces", "ibp",   "ibs", "ibo",   "ib"};

bool is_name(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

bool is_device(std::string_view word) {
  if (!is_name(word)) return false;
  return std::ranges::any_of(kDevices, [&](std::string_view prefix) {
    const auto rest = after(word, prefix);
    if (!rest) return false;
    // "ib0", but not "ibm7": of a prefix this short, a number must follow.
    if (prefix == "ib") return !rest->empty() && std::ranges::all_of(*rest, is_digit);
    return std::ranges::any_of(*rest, is_digit);
  });
}

// A host's name, and not a product's ("MT4129", "ConnectX7", "localhost").
bool is_host(std::string_view word) {
  return is_name(word) && !is_device(word) && word != "localhost" &&
         !word.starts_with("localhost.") && !word.starts_with("ConnectX") &&
         !(word.starts_with("MT") && std::ranges::all_of(word.substr(2), is_digit));
}

}  // namespace

AdapterName parse_adapter_name(std::string_view description) {
  const std::vector<std::string_view> parts = words(description);
  AdapterName name;
  if (parts.empty()) return name;
  if (is_device(parts[0])) {
    name.device = parts[0];
  } else if (parts.size() > 1 && is_device(parts[1])) {
    name.device = parts[1];
    if (is_host(parts[0])) name.host = parts[0];
  } else if (parts.size() == 1 && is_host(parts[0]) && std::ranges::any_of(parts[0], is_digit)) {
    // One word says a host only where it looks like one of many.
    name.host = parts[0];
  }
  return name;
}

bool is_aggregation_node(std::string_view description) {
  return description.find("Aggregation Node") != std::string_view::npos;
}

std::string same_device_name(std::string_view device) {
  const auto counted = after(device, kCounted);
  const auto number = counted ? parse_number<int>(*counted) : std::nullopt;
  if (number && *number > 0) return fmt::format("mlx5_{}", *number - 1);
  return std::string(device);
}

}  // namespace lockstep::topology
