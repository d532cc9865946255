#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/json.h"
#include "topology/json_reader.h"

namespace lockstep::topology {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxDevices = 4096;  // of a kind, in one host

// Parsed values take more memory than their text; the keys of ours are so long that they have at
// least four bytes of text each, and lists such as [0,0,...] are none of ours.
constexpr std::size_t kBytesOfValue = 4;

ParsedJson parse(const Recording& recording) {
  const std::string& text = recording.text;
  const std::size_t most = 1024 + text.size() / kBytesOfValue;
  std::size_t values = 0;
  const auto watch = [&](int depth, ParsedJson::parse_event_t, ParsedJson&) {
    if (depth > kMaxDepth)
      throw JsonFault(fmt::format("expected nesting of at most {} levels, found more", kMaxDepth));
    if (++values > most)
      throw JsonFault("expected a description of hosts, found a list of numbers");
    return true;
  };
  try {
    return ParsedJson::parse(text, watch);
  } catch (const ParsedJson::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    const auto line = 1 + std::count(text.begin(), end, '\n');
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] ") + 2, what.size()));  // nlohmann's own number of it
    throw ReadError(recording.name, static_cast<int>(line), fmt::format("not JSON: {}", what));
  } catch (const ParsedJson::exception& error) {
    throw JsonFault(fmt::format("expected numbers that a double can hold: {}", error.what()));
  }
}

// What JSON has otherwise than Machine and Cluster do.
struct SwitchEntry {
  Switch says;
  std::string kind;
};

struct HostEntry {
  Machine machine;
  std::vector<SwitchEntry> switches;
};

struct FindingEntry {
  Finding says;
  std::optional<int> host;  // its position; empty: of the cluster
};

struct Document {
  int version = 0;
  std::vector<HostEntry> hosts;
  std::optional<Fabric> fabric;
  std::vector<FindingEntry> findings;
};

template <typename Side, Either<SwitchEntry> Value>
void map_fields(Side& side, Value& entry) {
  map_fields(side, entry.says);
  side("kind", entry.kind);
}

template <typename Side, Either<HostEntry> Value>
void map_fields(Side& side, Value& entry) {
  map_fields(side, entry.machine);
  side("switches", entry.switches);
}

template <typename Side, Either<FindingEntry> Value>
void map_fields(Side& side, Value& entry) {
  map_fields(side, entry.says);
  side("host", entry.host);
}

template <typename Side, Either<Document> Value>
void map_fields(Side& side, Value& document) {
  side("hosts", document.hosts);
  side("fabric", document.fabric);
  side("findings", document.findings);
}

// Lists of devices are not too long, and what names a device names one that is there.
void check_devices(const Machine& machine, std::size_t position) {
  std::set<int> nodes{-1};
  for (const NumaNode& node : machine.numa) nodes.insert(node.id);
  const auto has = [&](DeviceId id) {
    const auto below = [&](const auto& list) {
      return id.index >= 0 && static_cast<std::size_t>(id.index) < list.size();
    };
    switch (id.kind) {
      case DeviceKind::gpu:
        return below(machine.gpus);
      case DeviceKind::nic:
        return below(machine.nics);
      case DeviceKind::pcie_switch:
        return below(machine.switches);
      case DeviceKind::nvswitch:
        return below(machine.nvswitches);
      case DeviceKind::numa:
        return nodes.contains(id.index);
    }
    return false;
  };
  const auto check = [&](std::string_view list, const auto& pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (has(pairs[i].from) && has(pairs[i].to)) continue;
      throw JsonFault(
          fmt::format("hosts[{}].{}[{}]: expected two devices of the host, found {} "
                      "and {}",
                      position, list, i, to_string(pairs[i].from), to_string(pairs[i].to)));
    }
  };
  check("links", machine.links);
  check("stated", machine.stated);
  check("peers", machine.peers);
  const std::size_t most = std::max({machine.gpus.size(), machine.nics.size(), machine.numa.size(),
                                     machine.switches.size(), machine.nvswitches.size()});
  if (most > kMaxDevices) {
    throw JsonFault(fmt::format("hosts[{}]: expected at most {} devices of a kind, found {}",
                                position, kMaxDevices, most));
  }
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    if (machine.links[i].count < 0)
      throw JsonFault(
          fmt::format("hosts[{}].links[{}].count: expected a number from 0", position, i));
  }
}

void take_switches(HostEntry& host, std::size_t position) {
  for (std::size_t i = 0; i < host.switches.size(); ++i) {
    SwitchEntry& entry = host.switches[i];
    if (entry.kind != "pcie" && entry.kind != "nvswitch") {
      throw JsonFault(
          fmt::format("hosts[{}].switches[{}].kind: expected pcie or nvswitch, found "
                      "\"{}\"",
                      position, i, entry.kind.substr(0, 60)));
    }
    auto& list = entry.kind == "pcie" ? host.machine.switches : host.machine.nvswitches;
    list.push_back(std::move(entry.says));
  }
}

Document read_document(const Recording& recording) {
  const ParsedJson json = parse(recording);
  const JsonPlace place;
  JsonReader reader(json, place);
  Document document;
  reader("version", document.version);
  if (document.version != 1) {
    throw JsonFault(
        fmt::format("version: expected 1, found {}; read it with the lockstep that "
                    "wrote it",
                    document.version));
  }
  if (!json.contains("hosts")) throw JsonFault("expected the key \"hosts\", found none");
  map_fields(reader, document);
  return document;
}

Cluster cluster_of(Document document) {
  Cluster cluster;
  cluster.fabric = std::move(document.fabric);
  for (std::size_t i = 0; i < document.hosts.size(); ++i) {
    take_switches(document.hosts[i], i);
    check_devices(document.hosts[i].machine, i);
    cluster.hosts.push_back(std::move(document.hosts[i].machine));
  }
  for (std::size_t i = 0; i < document.findings.size(); ++i) {
    FindingEntry& entry = document.findings[i];
    if (!entry.host) {
      cluster.findings.push_back(std::move(entry.says));
      continue;
    }
    const auto host = static_cast<std::size_t>(*entry.host);
    if (host >= cluster.hosts.size()) {
      throw JsonFault(fmt::format("findings[{}].host: expected a position among {} hosts, found {}",
                                  i, cluster.hosts.size(), *entry.host));
    }
    cluster.hosts[host].findings.push_back(std::move(entry.says));
  }
  return cluster;
}

}  // namespace

Cluster cluster_from_json(const Recording& recording) {
  try {
    return cluster_of(read_document(recording));
  } catch (const JsonFault& fault) {
    throw ReadError(recording.name, 0, fault.what());
  }
}

}  // namespace lockstep::topology
