#include <fmt/format.h>

#include <cstddef>

#include "topology/json.h"
#include "topology/json_writer.h"

namespace lockstep::topology {
namespace {

// How many NVLinks each GPU has; all empty where the recording says nothing of any.
std::vector<std::optional<int>> nvlinks_of(const Machine& machine) {
  std::vector<std::optional<int>> count(machine.gpus.size());
  const auto add = [&](DeviceId id, int links) {
    const auto gpu = static_cast<std::size_t>(id.index);
    if (id.kind == DeviceKind::gpu && gpu < count.size())
      count[gpu] = count[gpu].value_or(0) + links;
  };
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::nvlink) continue;
    add(link.from, link.count);
    add(link.to, link.count);
  }
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (machine.gpus[i].nvlinks.empty()) continue;
    count[i] = 0;
    for (const NvlinkPort& port : machine.gpus[i].nvlinks)
      count[i] = *count[i] + (port.active ? 1 : 0);
  }
  return count;
}

// What each PCIe switch's link upwards carries, where the recording says it.
std::vector<std::optional<double>> uplinks_of(const Machine& machine) {
  std::vector<std::optional<double>> GBps(machine.switches.size());
  for (const Link& link : machine.links) {
    const auto index = static_cast<std::size_t>(link.from.index);
    if (link.kind == LinkKind::pcie && link.from.kind == DeviceKind::pcie_switch &&
        index < GBps.size())
      GBps[index] = link.GBps;
  }
  return GBps;
}

OrderedJson switch_json(const Switch& node, DeviceId id, std::optional<double> GBps) {
  OrderedJson json = JsonWriter::object_of(node);
  json["id"] = to_string(id);
  json["kind"] = id.kind == DeviceKind::nvswitch ? "nvswitch" : "pcie";
  json["link_GBps"] = GBps ? OrderedJson(*GBps) : OrderedJson(nullptr);
  return json;
}

OrderedJson switches_json(const Machine& machine) {
  OrderedJson list = OrderedJson::array();
  const auto uplinks = uplinks_of(machine);
  for (std::size_t i = 0; i < machine.switches.size(); ++i) {
    list.push_back(switch_json(machine.switches[i], {DeviceKind::pcie_switch, static_cast<int>(i)},
                               uplinks[i]));
  }
  for (std::size_t i = 0; i < machine.nvswitches.size(); ++i) {
    list.push_back(switch_json(machine.nvswitches[i], {DeviceKind::nvswitch, static_cast<int>(i)},
                               std::nullopt));
  }
  return list;
}

OrderedJson paths_json(const PathTable& table) {
  OrderedJson list = OrderedJson::array();
  for (const Path& path : table.all()) {
    list.push_back({{"from", to_string(path.from)},
                    {"to", to_string(path.to)},
                    {"kind", std::string(to_string(path.kind))},
                    {"label", path.label},
                    {"GBps", path.GBps ? OrderedJson(*path.GBps) : OrderedJson(nullptr)}});
  }
  return list;
}

OrderedJson host_json(const Machine& machine, const PathTable* paths) {
  OrderedJson json = JsonWriter::object_of(machine);
  json["source"] = machine.sources.empty() ? "" : machine.sources.front();
  json["switches"] = switches_json(machine);
  const auto nvlinks = nvlinks_of(machine);
  for (std::size_t i = 0; i < nvlinks.size(); ++i) {
    json["gpus"][i]["id"] = to_string(DeviceId{DeviceKind::gpu, static_cast<int>(i)});
    json["gpus"][i]["nvlinks"] = nvlinks[i] ? OrderedJson(*nvlinks[i]) : OrderedJson(nullptr);
  }
  for (std::size_t i = 0; i < machine.nics.size(); ++i)
    json["nics"][i]["id"] = to_string(DeviceId{DeviceKind::nic, static_cast<int>(i)});
  json["paths"] = paths == nullptr ? OrderedJson::array() : paths_json(*paths);
  return json;
}

OrderedJson finding_json(const Finding& finding, std::optional<std::size_t> host) {
  OrderedJson json = JsonWriter::object_of(finding);
  json["host"] = host ? OrderedJson(*host) : OrderedJson(nullptr);
  return json;
}

}  // namespace

void JsonWriter::hex(std::string_view key, const std::optional<std::uint32_t>& value) {
  object_[std::string(key)] = value ? OrderedJson(fmt::format("{:#06x}", *value)) : nullptr;
}

std::string to_json(const Cluster& cluster, const JsonExtras& extras) {
  OrderedJson json;
  json["version"] = 1;
  json["hosts"] = OrderedJson::array();
  json["findings"] = OrderedJson::array();
  for (const Finding& finding : cluster.findings)
    json["findings"].push_back(finding_json(finding, std::nullopt));
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    json["hosts"].push_back(
        host_json(cluster.hosts[i], extras.paths.empty() ? nullptr : &extras.paths[i]));
    for (const Finding& finding : cluster.hosts[i].findings)
      json["findings"].push_back(finding_json(finding, i));
  }
  json["fabric"] = cluster.fabric ? JsonWriter::object_of(*cluster.fabric) : OrderedJson(nullptr);
  if (!extras.placement.empty()) {
    json["placement"] = OrderedJson::array();
    for (const DeviceId gpu : extras.placement) json["placement"].push_back(to_string(gpu));
    json["placement_caveat"] = extras.placement_caveat.empty()
                                   ? OrderedJson(nullptr)
                                   : OrderedJson(extras.placement_caveat);
  }
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::topology
