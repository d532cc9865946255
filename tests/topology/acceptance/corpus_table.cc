#include "tests/topology/acceptance/corpus_table.h"

namespace lockstep::topology::test {

const std::vector<RecordedCounts>& recorded_counts() {
  static const std::vector<RecordedCounts> kRows{
      {"hwloc/16intel64-manyVFs.xml", 0, 6, 2},
      {"hwloc/32em64t-2n8c+dax+nvme+mic+dimms.xml", 0, 3, 2},
      {"hwloc/32em64t-2n8c2t-pci-wholeio.xml", 3, 3, 2},
      {"hwloc/96em64t-4n4d3ca2co-pci.xml", 0, 8, 4},
      {"hwloc/nvidia-dgx-gb10.xml", 0, 0, 1},
      {"hwloc/nvidiaDGX2.xml", 16, 0, 2},
      {"ib/hgx-12nic.ibdev2netdev.txt", 0, 12, 0},
      {"ib/ibstat.39.0.a100.failed.ibpanic.exit-255.0.txt", 0, 8, 0, {"tool-failed"}},
      {"ib/ibstat.47.0.a100.all.active.0.txt", 0, 9, 0, {"ethernet-among-infiniband"}},
      {"ib/ibstat.47.0.h100.all.active.0.txt", 0, 12, 0},
      {"ib/ibstat.47.0.h100.all.active.2.txt", 0, 9, 0},
      {"ib/ibstat.47.0.h100.some.down.0.txt", 0, 12, 0, {"ethernet-among-infiniband"}},
      {"ib/ibstat.47.0.h100.some.down.with.polling.1.txt", 0, 12, 0},
      {"ib/ibstatus.39.0.a100.all.active.0.txt", 0, 9, 0, {"ethernet-among-infiniband"}},
      {"ib/ibv_devinfo-cx7-dell-2hca.txt", 0, 2, 0},
      {"ib/ibv_devinfo-mlx4-dualport.txt", 0, 2, 0},
      // Its shared subnet is said, as a hint: rules of routing are not in a table of GIDs.
      {"ib/roce-3hca.show_gids.txt", 0, 2, 0},
      {"ib/roce-4gid.ibv_devinfo.txt", 0, 1, 0, {"incomplete-recording"}},
      {"ib/shared-docker.show_gids.txt", 0, 1, 0},
      {"ib/vxlan-bond-same-ip.show_gids.txt", 0, 1, 0, {"duplicate-roce-address"}},
      {"logs/h100-gen4-2nic-per-gpu.nccl-graph.txt", 4, 3, 1},
      {"logs/vm-h200-pci-0.2.nccl-graph.txt", 2, 2, 2, {"slow-virtual-switch"}},
      {"lspci/a10-cloud.lspci-nn.txt", 1, 1, 0},
      {"lspci/h100-host.lspci-vvv.txt", 8, 14, 2, {"acs-redirect"}},
      {"nccl-xml/WRONG-aws-p5.48xlarge-no-arch-2023.xml",
       0,
       0,
       2,
       {"incomplete-processor", "pcie-speed-unknown"}},
      {"nccl-xml/WRONG-azure-ndv4-numa-swapped-2023.xml", 8, 8, 4, {"identical-cpu-masks"}},
      // Its cpu elements lack arch and vendor as those of p5 did.
      {"nccl-xml/aws-g5.48xlarge-topo.xml", 0, 0, 2, {"incomplete-processor"}},
      {"nccl-xml/aws-p4d.24xlarge-topo.xml", 8, 4, 2},
      {"nccl-xml/azure-ncv4-topo.xml", 4, 1, 4},
      {"nccl-xml/azure-ndv2-topo.xml", 8, 1, 2},
      {"nccl-xml/azure-ndv5-topo.xml", 8, 8, 2},
      {"nccl-xml/oci-bm.gpu.h100.8-k8s-topo.xml", 8, 16, 2},
      {"nccl-xml/oci-bm.gpu.h100.8-topo.xml", 8, 16, 2, {"suspicious-switch-uplink"}},
      {"nccl-xml/oci-bm.gpu4.8-topo-flattened.xml", 8, 8, 4},
      {"nccl-xml/rccl-topo_16p1h.xml", 16, 8, 4},
      {"nccl-xml/rccl-topo_16p1h_vm.xml", 16, 8, 4},
      {"nccl-xml/rccl-topo_3p_pcie.xml", 3, 1, 2},
      {"nccl-xml/rccl-topo_4p1h.xml", 4, 1, 1},
      {"nccl-xml/rccl-topo_8p6l_6nic.xml", 8, 6, 2},
      {"nccl-xml/rccl-topo_8p_940vm.xml", 8, 8, 2},
      {"nccl-xml/rccl-topo_8p_rome.xml", 8, 1, 2},
      {"nccl-xml/rccl-topo_8p_rome_vm1.xml", 8, 1, 4},
      {"net/hgx-12nic.ip-br-addr.txt", 0, 0, 0},
      {"nvlink/h100-remote-gpu0.nvlink-R.txt", 1, 0, 0},
      {"nvlink/v100-inactive-links.txt", 4, 0, 0, {"inactive-nvlink"}},
      {"smi-topo/2gpu-nv1-mlx5-phb-oldlegend.txt", 2, 1, 0},
      {"smi-topo/2gpu-nv3-loose-bridge.txt", 2, 0, 0, {"lost-nvlink"}},
      {"smi-topo/4gpu-nv4-pairs-1nic-pxb-pix.txt", 4, 1, 2},
      {"smi-topo/a100-pcie-4gpu-one-bridge-dead-oldfmt.txt", 4, 2, 2, {"dead-nvlink-bridge"}},
      {"smi-topo/a100-pcie-8gpu-interleaved-pairs.txt", 8, 0, 2},
      {"smi-topo/a40-8gpu-2nic.txt", 8, 2, 2},
      {"smi-topo/azure-ndv2-v100-8gpu-mlx5-oldfmt.txt", 8, 1, 1, {"single-numa"}},
      {"smi-topo/container-2gpu-8nic-no-affinity.txt", 2, 8, 0},
      {"smi-topo/dgx-a100-10nic.txt", 8, 10, 4},
      {"smi-topo/gb200-4gpu-8nic-all-sys.txt", 4, 8, 2},
      {"smi-topo/gpu4-header-only-no-legend.txt", 4, 0, 0},
      {"smi-topo/h100-8gpu-nonic-compact.txt", 8, 0, 2},
      {"smi-topo/h100-dell-12nic-topo-mp.txt", 8, 12, 2},
      {"smi-topo/hgx-8gpu-12nic-single-numa-roce.txt", 8, 12, 1},
      {"smi-topo/p2p-read-l4-cns.txt", 2, 0, 0},
      {"smi-topo/pcie-8gpu-6plus2-node-phb.txt", 8, 0, 2},
      {"smi-topo/power9-4gpu-nv3-4mlx5-oldfmt.txt", 4, 4, 2},
      {"smi-topo/rtx3090-4gpu-phb-sys.txt", 4, 0, 2},
      {"smi-topo/v100-4gpu-nv1nv2-mlx5-sys-oldfmt.txt", 4, 1, 0, {"distant-nic"}},
      {"smi-topo/v100-8gpu-cubemesh-2mlx5-oldfmt.txt", 8, 2, 2},
      {"smi-topo/vm-4gpu-phb-nonic.txt", 4, 0, 1},
      {"smi-topo/vm-h100-4gpu-8nic-all-phb.txt", 4, 8, 1, {"hidden-pci-topology"}},
      {"sysfs/2pa-pcidomain32bits.sysfs.txt", 0, 1, 1},
      {"sysfs/32em64t-2n8c+dax+nvme+mic+dimms.sysfs.txt", 0, 3, 2},
      {"sysfs/40intel64-4n10c+pci-conflicts.sysfs.txt", 0, 0, 4},
      {"sysfs/h100-9hca.sys-class-infiniband.txt", 0, 9, 0},
  };
  return kRows;
}

const std::vector<RecordedFabric>& recorded_fabrics() {
  static const std::vector<RecordedFabric> kRows{
      {"fabric/ibsim-net.1.txt", 1, 2},
      {"fabric/ibsim-net.2sw2path.txt", 2, 2},
      {"fabric/ibsim-net.2sw2path4hca.txt", 2, 4},
      {"fabric/ibsim-net.2sw2path4hca2port.txt", 2, 2},
      {"fabric/ndr-cluster.ibnetdiscover.txt", 40, 582},
      {"slurm/slurm-test133-case1.topology.conf", 529, 10000},
      {"slurm/slurm-test133-case2.topology.conf", 528, 10000},
      {"slurm/slurm-test133-case3.topology.conf", 23, 400},
      {"slurm/slurm-test133-case4.topology.conf", 22, 400},
      {"slurm/slurm-test133-case5.topology.conf", 22, 400},
      {"slurm/slurm-test133-case6.topology.conf", 7, 40},
      {"slurm/slurm-unit-backfill-block.topology.conf", 0, 0, 8},
      {"slurm/topograph-expected-oci-tree.topology.conf", 19, 96},
  };
  return kRows;
}

const std::vector<RefusedRecording>& refused_recordings() {
  static const std::vector<RefusedRecording> kRows{
      {"fabric/bad.ibnetdiscover.txt", ":10: expected the lines of the ports"},
      {"fabric/netq-computeNodes.json", "NetQ list of compute nodes"},
      {"fabric/netq-topologyGraph.json", "NetQ topology graph"},
      {"fabric/topograph-model-dual-xclr-irregular.yaml", "topograph model"},
      {"fabric/topograph-model-nvl72.yaml", "topograph model"},
      {"fabric/topograph-model-small-tree.yaml", "topograph model"},
      {"nccl-tests/gb200-nvl72-72gpu-allreduce.txt", "describes a run, not a machine"},
      {"nccl-tests/v100-oldformat-allreduce.txt", "describes a run, not a machine"},
  };
  return kRows;
}

const std::vector<RecordedSettings>& recorded_settings() {
  static const std::vector<RecordedSettings> kRows{
      {"settings/aws-p5.env", 5},
      {"settings/azure-ndv4-ndv5.env", 3},
      {"settings/gcp-a3mega-tcpxo.env", 23},
      {"settings/oci-nccl-conf-a100_b4.8.conf", 7},
      {"settings/oci-nccl-conf-b200.conf", 12},
      {"settings/oci-nccl-conf-b300.conf", 12},
      {"settings/oci-nccl-conf-bm.gpu4.8.conf", 7},
      {"settings/oci-nccl-conf-h100.conf", 12},
  };
  return kRows;
}

}  // namespace lockstep::topology::test
