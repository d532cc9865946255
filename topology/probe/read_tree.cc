#include "topology/probe/read_tree.h"

#include <fmt/format.h>

#include "topology/pci_tree.h"
#include "topology/probe/access_control.h"
#include "topology/probe/infiniband.h"
#include "topology/probe/net.h"
#include "topology/probe/nvidia_driver.h"
#include "topology/probe/pci.h"
#include "topology/probe/processors.h"
#include "topology/probe/system_facts.h"
#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

void read_accelerators(const PciTree& pci, Machine& machine) {
  for (const auto& [address, function] : pci) {
    if (is_gpu(function.pci)) {
      Gpu gpu;
      gpu.pci = function.pci;
      gpu.numa = nearest_numa(machine, function);
      gpu.cpus = function.cpus;
      machine.gpus.push_back(std::move(gpu));
    } else if (is_nvswitch(function.pci)) {
      machine.nvswitches.push_back(
          {.pci = function.pci, .access_control = std::nullopt, .name = function.name});
    }
  }
}

void say_what_there_is_not(const PciTree& pci, Machine& machine) {
  if (pci.empty()) {
    machine.findings.push_back(unreadable("the PCI bus", "/sys/bus/pci/devices"));
    machine.findings.push_back({.severity = Severity::info,
                                .code = "no-gpu",
                                .message =
                                    "whether there is a GPU cannot be told: no PCI device is "
                                    "shown here",
                                .where = "/sys/bus/pci/devices",
                                .remedy = "look on the host itself, outside the container"});
  } else if (machine.gpus.empty()) {
    machine.findings.push_back(
        {.severity = Severity::info,
         .code = "no-gpu",
         .message = fmt::format("no GPU: none of the {} devices on the PCI bus is one", pci.size()),
         .where = "/sys/bus/pci/devices",
         .remedy = {}});
  }
}

void attach_all(const PciTree& pci, Machine& machine) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    attach(machine, pci, {DeviceKind::gpu, static_cast<int>(i)}, machine.gpus[i].pci.address);
  for (std::size_t i = 0; i < machine.nics.size(); ++i)
    attach(machine, pci, {DeviceKind::nic, static_cast<int>(i)}, machine.nics[i].pci.address);
  connect_numa_nodes(machine);
}

}  // namespace

Machine read_tree(const FileTree& tree) {
  Machine machine;
  read_cpu(tree, machine);
  read_numa(tree, machine);
  read_system(tree, machine);
  const PciTree pci = read_pci(tree);
  read_infiniband(tree, pci, machine);
  read_interfaces(tree, machine);
  read_ethernet(tree, pci, machine);
  read_accelerators(pci, machine);
  read_nvidia_driver(tree, machine);
  attach_all(pci, machine);
  read_access_control(tree, pci, machine);
  say_what_there_is_not(pci, machine);
  return machine;
}

}  // namespace lockstep::topology
