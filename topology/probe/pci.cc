#include "topology/probe/pci.h"

#include <algorithm>

#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices/";
constexpr std::size_t kMostFunctions = 65536;

struct LinkLimits {
  std::optional<double> speed;
  std::optional<int> width;
};

LinkLimits limits(const FileTree& tree, const std::string& folder) {
  LinkLimits found;
  if (const auto text = read_value(tree, folder + "/max_link_speed"))
    found.speed = leading_number(*text);
  const auto width = read_integer(tree, folder + "/max_link_width");
  // 255: the register says nothing, as emulated devices do.
  if (width && *width > 0 && *width <= 64) found.width = static_cast<int>(*width);
  return found;
}

template <typename Number>
std::optional<Number> lesser(std::optional<Number> a, std::optional<Number> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

PcieLink read_link(const FileTree& tree, const std::string& folder, const std::string& above) {
  PcieLink link;
  link.as_written = read_value(tree, folder + "/max_link_speed").value_or("");
  const LinkLimits own = limits(tree, folder);
  const LinkLimits port = above.empty() ? LinkLimits() : limits(tree, above);
  // What the device does not state is not known, whatever its port could do.
  if (own.speed) link.max_speed = lesser(own.speed, port.speed);
  if (own.width) link.max_width = lesser(own.width, port.width);
  if (const auto text = read_value(tree, folder + "/current_link_speed"))
    link.speed = leading_number(*text);
  const auto width = read_integer(tree, folder + "/current_link_width");
  if (width && *width > 0 && *width <= 64) link.width = static_cast<int>(*width);
  return link;
}

PciFunction read_function(const FileTree& tree, PciAddress address) {
  const std::string folder = std::string(kDevices) + to_string(address);
  PciFunction function;
  function.pci.address = address;
  function.pci.class_code = read_hex(tree, folder + "/class");
  function.pci.vendor = read_hex(tree, folder + "/vendor");
  function.pci.device = read_hex(tree, folder + "/device");
  function.pci.subsystem_vendor = read_hex(tree, folder + "/subsystem_vendor");
  function.pci.subsystem_device = read_hex(tree, folder + "/subsystem_device");
  std::string above;
  if (const auto real = tree.real_path(folder)) {
    function.parent = function_of(std::string_view(*real).substr(0, real->rfind('/')));
    if (function.parent) above = std::string(kDevices) + to_string(*function.parent);
  }
  function.pci.link = read_link(tree, folder, above);
  const auto numa = read_integer(tree, folder + "/numa_node");
  if (numa && *numa >= 0 && *numa <= CpuSet::kMaxCpu) function.numa = static_cast<int>(*numa);
  if (const auto list = read_value(tree, folder + "/local_cpulist"))
    function.cpus = CpuSet::from_list(*list);
  if (const auto physical = tree.real_path(folder + "/physfn")) {
    function.virtual_function = true;
    function.physical = function_of(*physical);
  }
  return function;
}

}  // namespace

std::optional<PciAddress> function_of(std::string_view real_path) {
  while (!real_path.empty()) {
    const std::size_t slash = real_path.rfind('/');
    const auto address =
        parse_pci_address(real_path.substr(slash == std::string_view::npos ? 0 : slash + 1));
    if (address) return address;
    if (slash == std::string_view::npos) break;
    real_path = real_path.substr(0, slash);
  }
  return std::nullopt;
}

PciTree read_pci(const FileTree& tree) {
  PciTree functions;
  for (const std::string& name : tree.list(kDevices.substr(0, kDevices.size() - 1))) {
    const auto address = parse_pci_address(name);
    if (address && functions.size() < kMostFunctions)
      functions.emplace(*address, read_function(tree, *address));
  }
  return functions;
}

}  // namespace lockstep::topology
