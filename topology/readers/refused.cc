#include "topology/readers/refused.h"

#include <array>
#include <initializer_list>

#include "topology/nccl_tests.h"
#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_json_with(std::string_view text, std::initializer_list<std::string_view> keys) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '[' && text[first] != '{')) return false;
  for (const std::string_view key : keys) {
    if (!has(text, key)) return false;
  }
  return true;
}

// Whether a line without indentation begins with `key`.
bool has_line(std::string_view text, std::string_view key) {
  for (Lines lines(text); lines.next();) {
    if (lines.text().starts_with(key)) return true;
  }
  return false;
}

bool is_topograph_model(std::string_view text) {
  return has_line(text, "switches:") && (has_line(text, "blocks:") || has_line(text, "nodes:") ||
                                         has_line(text, "capacity_blocks:"));
}

bool is_slurm_yaml(std::string_view text) {
  return has_line(text, "- topology:") &&
         (has(text, "cluster_default:") || has(text, "tree:") || has(text, "block:"));
}

bool is_netq_nodes(std::string_view text) {
  return is_json_with(text, {"\"DomainUUID\"", "\"GpuIDList\""});
}

bool is_netq_graph(std::string_view text) {
  return is_json_with(text, {"\"compounded_links\"", "\"interfaces\""});
}

bool is_ibdiagnet(std::string_view text) {
  return has_line(text, "START_NODES") || has_line(text, "START_LINKS");
}

bool is_opensm_list(std::string_view text) {
  return has_line(text, "{ CA Ports:") || has_line(text, "{ SW Ports:");
}

bool is_iblinkinfo(std::string_view text) {
  return has_line(text, "CA: ") || has_line(text, "Switch: 0x");
}

struct Refusal {
  bool (*recognises)(std::string_view text);
  std::string_view reason;
};

constexpr std::array kRefusals{
    Refusal{is_nccl_tests,
            "nccl-tests output describes a run, not a machine; give a recording of the machine it "
            "ran on"},
    Refusal{is_topograph_model,
            "a topograph model (YAML) is a simulated cluster, not a recording; give the output of "
            "ibnetdiscover, or the topology.conf that topograph made"},
    Refusal{is_slurm_yaml,
            "Slurm's topology.yaml is not read; give topology.conf, or the output of "
            "`scontrol show topology`"},
    Refusal{is_netq_nodes,
            "a NetQ list of compute nodes (JSON) says nothing about links; give each host's "
            "`lockstep probe --format json`, and for blocks Slurm's topology.conf"},
    Refusal{is_netq_graph,
            "a NetQ topology graph (JSON) is not read; give Slurm's topology.conf for the switch "
            "tree, or the output of ibnetdiscover for InfiniBand"},
    Refusal{is_ibdiagnet,
            "ibdiagnet's db_csv is not read; give the output of ibnetdiscover on the same fabric"},
    Refusal{is_opensm_list,
            "OpenSM's subnet list is not read; give the output of ibnetdiscover on the same "
            "fabric"},
    Refusal{is_iblinkinfo,
            "iblinkinfo output is not read; give the output of ibnetdiscover on the same fabric"},
};

}  // namespace

std::optional<std::string_view> refusal_of(std::string_view text) {
  for (const Refusal& refusal : kRefusals) {
    if (refusal.recognises(text)) return refusal.reason;
  }
  return std::nullopt;
}

}  // namespace lockstep::topology
