// Which field of a value stands under which key: one function a struct, for writing and for
// reading.
//
// A side is a JsonWriter or a JsonReader: side(key, field) writes or reads one field, side.hex()
// one that is written as a hexadecimal number. A value's fields lie in the object that the side
// stands for; those of a PciDevice lie beside the fields of the GPU, adapter or switch that has it.
#pragma once

#include <concepts>
#include <type_traits>

#include "topology/fabric.h"
#include "topology/machine.h"

namespace lockstep::topology {

// `Field` is `Value`, which a writer has as a constant.
template <typename Field, typename Value>
concept Either = std::same_as<std::remove_const_t<Field>, Value>;

template <typename Side, Either<Cpu> Value>
void map_fields(Side& side, Value& cpu) {
  side("vendor", cpu.vendor);
  side("model", cpu.model);
  side("sockets", cpu.sockets);
  side("cores", cpu.cores);
  side("threads", cpu.threads);
  side("architecture", cpu.architecture);
  side("family", cpu.family);
  side("model_number", cpu.model_number);
}

template <typename Side, Either<NumaNode> Value>
void map_fields(Side& side, Value& node) {
  side("id", node.id);
  side("cpus", node.cpus);
  side("memory", node.memory);
  side("socket", node.socket);
  side("mask_words", node.mask_words);
}

template <typename Side, Either<PcieLink> Value>
void map_fields(Side& side, Value& link) {
  side("max_GTps", link.max_speed);
  side("GTps", link.speed);
  side("max_width", link.max_width);
  side("width", link.width);
  side("as_written", link.as_written);
}

template <typename Side, Either<PciDevice> Value>
void map_fields(Side& side, Value& device) {
  side("pci", device.address);
  side.hex("class", device.class_code);
  side.hex("vendor", device.vendor);
  side.hex("device", device.device);
  side.hex("subsystem_vendor", device.subsystem_vendor);
  side.hex("subsystem_device", device.subsystem_device);
  side("pcie", device.link);
}

template <typename Side, Either<NvlinkPort> Value>
void map_fields(Side& side, Value& port) {
  side("number", port.number);
  side("active", port.active);
  side("GBps", port.GBps);
  side("remote", port.remote);
  side("remote_kind", port.remote_kind);
}

template <typename Side, Either<Gpu> Value>
void map_fields(Side& side, Value& gpu) {
  side("name", gpu.name);
  map_fields(side, gpu.pci);
  side("numa", gpu.numa);
  side("sm", gpu.sm);
  side("memory", gpu.memory);
  side("uuid", gpu.uuid);
  side("memory_numa", gpu.memory_numa);
  side("cpus", gpu.cpus);
  side("gpudirect", gpu.gpudirect);
  side("nvlink_ports", gpu.nvlinks);
}

template <typename Side, Either<Gid> Value>
void map_fields(Side& side, Value& gid) {
  side("index", gid.index);
  side("address", gid.address);
  side("type", gid.type);
  side("netdev", gid.netdev);
  side("readable", gid.readable);
}

template <typename Side, Either<Nic> Value>
void map_fields(Side& side, Value& nic) {
  side("name", nic.name);
  map_fields(side, nic.pci);
  side("numa", nic.numa);
  side("kind", nic.kind);
  side("rate_Gbps", nic.rate_Gbps);
  side("state", nic.state);
  side("netdev", nic.netdev);
  side("port", nic.port);
  side("guid", nic.guid);
  side("board", nic.board);
  side("physical_state", nic.physical_state);
  side("gpudirect", nic.gpudirect);
  side("virtual_function", nic.virtual_function);
  side("gids", nic.gids);
}

template <typename Side, Either<AccessControl> Value>
void map_fields(Side& side, Value& control) {
  side("source_validation", control.source_validation);
  side("request_redirect", control.request_redirect);
  side("completion_redirect", control.completion_redirect);
  side("upstream_forwarding", control.upstream_forwarding);
}

template <typename Side, Either<Switch> Value>
void map_fields(Side& side, Value& node) {
  map_fields(side, node.pci);
  side("name", node.name);
  side("access_control", node.access_control);
}

template <typename Side, Either<Interface> Value>
void map_fields(Side& side, Value& interface) {
  side("name", interface.name);
  side("kind", interface.kind);
  side("up", interface.up);
  side("addresses", interface.addresses);
  side("master", interface.master);
  side("rate_Gbps", interface.rate_Gbps);
  side("pci", interface.pci);
  side("own_arp", interface.own_arp);
}

template <typename Side, Either<Link> Value>
void map_fields(Side& side, Value& link) {
  side("from", link.from);
  side("to", link.to);
  side("kind", link.kind);
  side("count", link.count);
  side("GBps", link.GBps);
}

template <typename Side, Either<StatedPath> Value>
void map_fields(Side& side, Value& path) {
  side("from", path.from);
  side("to", path.to);
  side("label", path.label);
}

template <typename Side, Either<PeerStatus> Value>
void map_fields(Side& side, Value& peer) {
  side("from", peer.from);
  side("to", peer.to);
  side("capability", peer.capability);
  side("status", peer.status);
}

template <typename Side, Either<Setting> Value>
void map_fields(Side& side, Value& setting) {
  side("variable", setting.variable);
  side("value", setting.value);
  side("origin", setting.origin);
}

template <typename Side, Either<System> Value>
void map_fields(Side& side, Value& system) {
  side("kernel", system.kernel);
  side("kernel_command_line", system.kernel_command_line);
  side("product", system.product);
  side("provider", system.provider);
  side("virtual_machine", system.virtual_machine);
  side("container", system.container);
  side("gpu_driver", system.gpu_driver);
  side("nccl", system.nccl);
  side("nccl_library", system.nccl_library);
  side("iommu_groups", system.iommu_groups);
  side("peer_memory", system.peer_memory);
  side("dmabuf", system.dmabuf);
  side("shared_memory", system.shared_memory);
  side("locked_memory", system.locked_memory);
  side("verbs_devices", system.verbs_devices);
  side("fabric_manager", system.fabric_manager);
  side("settings", system.settings);
}

template <typename Side, Either<Finding> Value>
void map_fields(Side& side, Value& finding) {
  side("severity", finding.severity);
  side("code", finding.code);
  side("message", finding.message);
  side("where", finding.where);
  side("remedy", finding.remedy);
}

// All but the switches, whose two lists are one in JSON, and the findings, which stand beside the
// hosts.
template <typename Side, Either<Machine> Value>
void map_fields(Side& side, Value& machine) {
  side("name", machine.name);
  side("sources", machine.sources);
  side("cpu", machine.cpu);
  side("numa", machine.numa);
  side("gpus", machine.gpus);
  side("nics", machine.nics);
  side("interfaces", machine.interfaces);
  side("links", machine.links);
  side("stated", machine.stated);
  side("peers", machine.peers);
  side("system", machine.system);
}

template <typename Side, Either<FabricPort> Value>
void map_fields(Side& side, Value& port) {
  side("number", port.number);
  side("peer", port.peer);
  side("peer_port", port.peer_port);
  side("rate_Gbps", port.rate_Gbps);
}

template <typename Side, Either<FabricSwitch> Value>
void map_fields(Side& side, Value& node) {
  side("guid", node.guid);
  side("name", node.name);
  side("tier", node.tier);
  side("ports", node.ports);
}

template <typename Side, Either<FabricAdapter> Value>
void map_fields(Side& side, Value& adapter) {
  side("guid", adapter.guid);
  side("name", adapter.name);
  side("host", adapter.host);
  side("device", adapter.device);
  side("kind", adapter.kind);
  side("ports", adapter.ports);
}

template <typename Side, Either<Rail> Value>
void map_fields(Side& side, Value& rail) {
  side("device", rail.device);
  side("switches", rail.switches);
  side("adapters", rail.adapters);
}

template <typename Side, Either<Fabric> Value>
void map_fields(Side& side, Value& fabric) {
  side("switches", fabric.switches);
  side("hcas", fabric.adapters);
  side("tiers", fabric.tiers);
  side("rails", fabric.rails);
  side("blocks", fabric.blocks);
  side("block_sizes", fabric.block_sizes);
}

}  // namespace lockstep::topology
