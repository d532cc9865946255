#include "tests/topology/built_tree.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <fstream>
#include <stdexcept>

namespace lockstep::topology::test {
namespace {

constexpr std::string_view kGid = "fe80:0000:0000:0000:0002:c903:00aa:0001";

void build_cpus(BuiltTree& tree) {
  std::string cpuinfo;
  for (int cpu = 0; cpu < 4; ++cpu) {
    cpuinfo += fmt::format(
        "processor\t: {}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
        "model name\t: AMD EPYC 9354 32-Core Processor\nphysical id\t: {}\ncore id\t\t: {}\n"
        "flags\t\t: fpu vme\n\n",
        cpu, cpu / 2, cpu % 2);
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology", cpu);
    tree.file(folder + "/physical_package_id", fmt::format("{}\n", cpu / 2));
    tree.file(folder + "/core_cpus_list", fmt::format("{}\n", cpu));
  }
  tree.file("/proc/cpuinfo", cpuinfo);
  tree.file("/sys/devices/system/node/node0/cpulist", "0-1\n");
  tree.file("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       2048 kB\n");
  tree.file("/sys/devices/system/node/node1/cpulist", "2-3\n");
  tree.file("/sys/devices/system/node/node2/cpulist", "\n");
  tree.file("/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:       4096 kB\n");
}

void build_adapter(BuiltTree& tree, const std::string& function, std::string_view name) {
  const std::string device = fmt::format("{}/infiniband/{}", function, name);
  tree.link(fmt::format("/sys/class/infiniband/{}", name), device);
  tree.link(device + "/device", function);
  tree.file(device + "/node_type", "1: CA\n");
  tree.file(device + "/node_guid", "0002:c903:00aa:0000\n");
  tree.file(device + "/hca_type", "MT4129\n");
  tree.file(device + "/ports/1/state", "4: ACTIVE\n");
  tree.file(device + "/ports/1/phys_state", "5: LinkUp\n");
  tree.file(device + "/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  tree.file(device + "/ports/1/link_layer", "InfiniBand\n");
  tree.file(device + "/ports/1/gids/0", fmt::format("{}\n", kGid));
  tree.file(device + "/ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
  tree.file(device + "/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
}

void build_interface(BuiltTree& tree, const std::string& function, std::string_view name,
                     std::string_view type) {
  const std::string folder = fmt::format("{}/net/{}", function, name);
  tree.link(fmt::format("/sys/class/net/{}", name), folder);
  tree.link(folder + "/device", function);
  tree.file(folder + "/type", fmt::format("{}\n", type));
  tree.file(folder + "/flags", "0x1003\n");
  tree.file(folder + "/operstate", "up\n");
}

}  // namespace

BuiltTree::BuiltTree() {
  std::string name = (std::filesystem::temp_directory_path() / "lockstep-tree-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + name);
  root_ = name;
}

BuiltTree::~BuiltTree() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::filesystem::path BuiltTree::inside(std::string_view path) const {
  return root_ / std::filesystem::path(path).relative_path();
}

BuiltTree& BuiltTree::file(std::string_view path, std::string_view content) {
  const auto full = inside(path);
  std::filesystem::create_directories(full.parent_path());
  std::ofstream(full, std::ios::binary) << content;
  return *this;
}

BuiltTree& BuiltTree::folder(std::string_view path) {
  std::filesystem::create_directories(inside(path));
  return *this;
}

BuiltTree& BuiltTree::link(std::string_view path, std::string_view target) {
  const auto full = inside(path);
  std::filesystem::create_directories(full.parent_path());
  std::filesystem::create_symlink(inside(target).lexically_relative(full.parent_path()), full);
  return *this;
}

std::string add_function(BuiltTree& tree, const BuiltFunction& function) {
  std::string folder = fmt::format("{}/{}", function.parent, function.address);
  tree.file(folder + "/class", fmt::format("{}\n", function.class_code));
  tree.file(folder + "/vendor", fmt::format("{}\n", function.vendor));
  tree.file(folder + "/device", fmt::format("{}\n", function.device));
  tree.file(folder + "/numa_node", fmt::format("{}\n", function.numa));
  tree.file(folder + "/max_link_speed", "16.0 GT/s PCIe\n");
  tree.file(folder + "/max_link_width", "16\n");
  tree.file(folder + "/current_link_speed", "8.0 GT/s PCIe\n");
  tree.file(folder + "/current_link_width", "8\n");
  tree.link(fmt::format("/sys/bus/pci/devices/{}", function.address), folder);
  return folder;
}

void build_server(BuiltTree& tree) {
  build_cpus(tree);
  const auto bridge = [&tree](std::string_view parent, std::string_view address, int numa) {
    return add_function(tree, {.parent = parent,
                               .address = address,
                               .class_code = "0x060400",
                               .vendor = "0x1000",
                               .device = "0xc030",
                               .numa = numa});
  };
  const std::string root = bridge("/sys/devices/pci0000:00", "0000:00:01.0", 0);
  const std::string up = bridge(root, "0000:01:00.0", 0);
  const std::string left = bridge(up, "0000:02:00.0", 0);
  const std::string right = bridge(up, "0000:02:01.0", 0);
  add_function(tree, {.parent = left,
                      .address = "0000:03:00.0",
                      .class_code = "0x030200",
                      .vendor = "0x10de",
                      .device = "0x2330",
                      .numa = 0});
  const std::string adapter = add_function(tree, {.parent = right,
                                                  .address = "0000:04:00.0",
                                                  .class_code = "0x020700",
                                                  .vendor = "0x15b3",
                                                  .device = "0x1021",
                                                  .numa = 0});
  build_adapter(tree, adapter, "mlx5_2");
  build_interface(tree, adapter, "ib0", "32");
  const std::string virtual_one = add_function(tree, {.parent = right,
                                                      .address = "0000:04:00.1",
                                                      .class_code = "0x020700",
                                                      .vendor = "0x15b3",
                                                      .device = "0x101e",
                                                      .numa = 0});
  tree.link(virtual_one + "/physfn", adapter);
  build_adapter(tree, virtual_one, "mlx5_10");
  const std::string port = bridge("/sys/devices/pci10000:00", "10000:00:02.0", 1);
  const std::string ethernet = add_function(tree, {.parent = port,
                                                   .address = "10000:01:00.0",
                                                   .class_code = "0x020000",
                                                   .vendor = "0x8086",
                                                   .device = "0x159b",
                                                   .numa = 1});
  build_interface(tree, ethernet, "eth0", "1");
  tree.file(ethernet + "/net/eth0/speed", "25000\n");
}

}  // namespace lockstep::topology::test
