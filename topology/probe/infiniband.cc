#include "topology/probe/infiniband.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/probe/pci.h"
#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kAdapters = "/sys/class/infiniband";
constexpr std::size_t kMostGids = 4096;
constexpr std::size_t kMostPorts = 4096;
constexpr std::uint32_t kAmazon = 0x1d0f;

// Neither all zeros nor a bare link-local prefix, which is what an empty entry reads as.
bool is_configured(std::string_view gid) {
  const std::string_view interface = gid.size() > 19 ? gid.substr(gid.size() - 19) : gid;
  return gid.find_first_not_of("0:") != std::string_view::npos &&
         interface.find_first_not_of("0:") != std::string_view::npos;
}

std::string gid_type(std::string_view text, bool ethernet) {
  if (text.ends_with("RoCE v2")) return "RoCE v2";
  if (text.ends_with("RoCE v1")) return ethernet ? "RoCE v1" : "IB";
  return std::string(text);
}

std::vector<Gid> read_gids(const FileTree& tree, const std::string& port, bool ethernet) {
  std::vector<Gid> gids;
  for (const std::string& name : tree.list(port + "/gids")) {
    const auto index = parse_integer(name);
    const auto address = read_value(tree, port + "/gids/" + name);
    if (!index || *index < 0 || *index > 65535 || gids.size() >= kMostGids) continue;
    if (!address || !is_configured(*address)) continue;
    Gid gid{.index = static_cast<int>(*index), .address = *address, .type = "", .netdev = ""};
    const FileText type = tree.read(port + "/gid_attrs/types/" + name, 64);
    // The kernel answers EINVAL for an entry of another network namespace.
    gid.readable = type.status != FileStatus::refused;
    gid.type = gid_type(trimmed(type.text), ethernet);
    if (gid.type.empty() && !ethernet) gid.type = "IB";
    gid.netdev = read_value(tree, port + "/gid_attrs/ndevs/" + name).value_or("");
    gids.push_back(std::move(gid));
  }
  return gids;
}

// The interface of a port: of its GIDs, else of the device, by the port's number where there are
// several; a slave stands for its bond where the adapter is one.
std::string netdev_of(const FileTree& tree, const std::string& device, const Nic& nic) {
  for (const Gid& gid : nic.gids) {
    if (!gid.netdev.empty()) return gid.netdev;
  }
  const std::string folder = device + "/device/net";
  const auto names = tree.list(folder);
  std::string found;
  for (const std::string& name : names) {
    const auto number = read_integer(tree, folder + "/" + name + "/dev_port");
    if (names.size() == 1 || (number && *number + 1 == nic.port.value_or(1))) found = name;
    if (!found.empty()) break;
  }
  if (nic.name.find("bond") == std::string::npos || found.empty()) return found;
  return link_name(tree, folder + "/" + found + "/master").value_or(found);
}

NicKind kind_of(std::string_view node_type, std::string_view link_layer, const PciDevice& pci) {
  if (pci.vendor == kAmazon) return NicKind::efa;
  // Channel adapters are what NCCL's verbs can use; iWARP and usNIC are RDMA of another kind.
  if (!node_type.empty() && !node_type.starts_with("1:")) return NicKind::other;
  if (link_layer == "InfiniBand") return NicKind::infiniband;
  if (link_layer == "Ethernet") return NicKind::roce;
  return link_layer.empty() ? NicKind::unknown : NicKind::other;
}

Nic read_port(const FileTree& tree, const std::string& device, const std::string& number, Nic nic) {
  const std::string port = device + "/ports/" + number;
  nic.port = static_cast<int>(*parse_integer(number));
  nic.state = port_state(read_value(tree, port + "/state").value_or(""));
  nic.physical_state = after_colon(read_value(tree, port + "/phys_state").value_or(""));
  if (const auto rate = read_value(tree, port + "/rate")) nic.rate_Gbps = leading_number(*rate);
  const std::string layer = read_value(tree, port + "/link_layer").value_or("");
  nic.kind = kind_of(read_value(tree, device + "/node_type").value_or(""), layer, nic.pci);
  nic.gids = read_gids(tree, port, layer == "Ethernet");
  nic.netdev = netdev_of(tree, device, nic);
  return nic;
}

}  // namespace

NicState port_state(std::string_view text) {
  const auto number = leading_number(text);
  if (!number) return NicState::unknown;
  return *number == 4 ? NicState::active : NicState::down;
}

std::string after_colon(std::string_view text) {
  const std::size_t colon = text.find(':');
  return std::string(trimmed(colon == std::string_view::npos ? text : text.substr(colon + 1)));
}

void read_infiniband(const FileTree& tree, const PciTree& pci, Machine& machine) {
  for (const std::string& name : tree.list(kAdapters)) {
    const std::string device = fmt::format("{}/{}", kAdapters, name);
    Nic nic;
    nic.name = name;
    if (const auto real = tree.real_path(device + "/device")) {
      const auto address = function_of(*real);
      const auto function = address ? pci.find(*address) : pci.end();
      if (function != pci.end()) {
        nic.pci = function->second.pci;
        nic.virtual_function = function->second.virtual_function;
        nic.numa = nearest_numa(machine, function->second);
      } else {
        nic.pci.address = address;
      }
    }
    nic.guid = read_value(tree, device + "/node_guid").value_or("");
    nic.board = read_value(tree, device + "/hca_type").value_or("");
    if (nic.board.empty()) nic.board = read_value(tree, device + "/board_id").value_or("");
    int ports = 0;
    for (const std::string& number : tree.list(device + "/ports")) {
      const auto value = parse_integer(number);
      if (!value || *value < 1 || *value > 255 || machine.nics.size() >= kMostPorts) continue;
      machine.nics.push_back(read_port(tree, device, number, nic));
      ++ports;
    }
    if (ports == 0)
      machine.findings.push_back(
          unreadable("the ports of RDMA adapter " + name, device + "/ports"));
  }
}

}  // namespace lockstep::topology
