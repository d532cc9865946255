#include "topology/readers/formats.h"

#include <fmt/format.h>

#include <array>

#include "topology/readers/hwloc_xml.h"
#include "topology/readers/ibdev2netdev.h"
#include "topology/readers/ibnetdiscover.h"
#include "topology/readers/ibstat.h"
#include "topology/readers/ibstatus.h"
#include "topology/readers/ibv_devinfo.h"
#include "topology/readers/ip_brief.h"
#include "topology/readers/lockstep_json.h"
#include "topology/readers/lspci.h"
#include "topology/readers/nccl_log.h"
#include "topology/readers/nccl_xml.h"
#include "topology/readers/rdma_link.h"
#include "topology/readers/refused.h"
#include "topology/readers/settings_file.h"
#include "topology/readers/show_gids.h"
#include "topology/readers/slurm_topology.h"
#include "topology/readers/smi_nvlink.h"
#include "topology/readers/smi_p2p.h"
#include "topology/readers/smi_topo.h"
#include "topology/readers/sysfs_snapshot.h"

namespace lockstep::topology {
namespace {

constexpr std::array kFormats{
    Format{"lockstep-json", is_lockstep_json, read_lockstep_json},
    Format{"hwloc-xml", is_hwloc_xml, read_hwloc_xml},
    Format{"nccl-xml", is_nccl_xml, read_nccl_xml},
    Format{"sysfs-snapshot", is_sysfs_snapshot, read_sysfs_snapshot},
    Format{"nvidia-smi-topo", is_smi_topo, read_smi_topo},
    Format{"nvidia-smi-p2p", is_smi_p2p, read_smi_p2p},
    Format{"nvidia-smi-nvlink", is_smi_nvlink, read_smi_nvlink},
    Format{"nccl-log", is_nccl_log, read_nccl_log},
    Format{"lspci", is_lspci, read_lspci},
    Format{"ibstat", is_ibstat, read_ibstat},
    Format{"ibstatus", is_ibstatus, read_ibstatus},
    Format{"ibdev2netdev", is_ibdev2netdev, read_ibdev2netdev},
    Format{"show_gids", is_show_gids, read_show_gids},
    Format{"ibv_devinfo", is_ibv_devinfo, read_ibv_devinfo},
    Format{"rdma-link", is_rdma_link, read_rdma_link},
    Format{"ibnetdiscover", is_ibnetdiscover, read_ibnetdiscover},
    Format{"slurm-topology", is_slurm_topology, read_slurm_topology},
    Format{"settings-file", is_settings_file, read_settings_file},
    // By the shape of its lines alone: after all that have a word of their own.
    Format{"ip-brief", is_ip_brief, read_ip_brief},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Reading read_recording(const Recording& recording) {
  for (const Format& format : formats()) {
    if (format.recognises(recording.text)) return format.read(recording);
  }
  if (const auto reason = refusal_of(recording.text)) throw ReadError(recording.name, 0, *reason);
  std::string names;
  for (const Format& format : formats())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  throw ReadError(recording.name, 0,
                  fmt::format("not a recording that can be read; known are: {}", names));
}

}  // namespace lockstep::topology
