#include "topology/readers/hwloc_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/gpu_product.h"
#include "topology/probe/provider.h"
#include "topology/probe/values.h"
#include "topology/readers/hwloc_objects.h"
#include "topology/readers/hwloc_parts.h"

namespace lockstep::topology {
namespace {

void read_system(const HwlocFile& file, Machine& machine) {
  const auto info = [&file](const char* name) { return file.info("Machine", name); };
  const Firmware firmware{.vendor = info("DMISysVendor"),
                          .product = info("DMIProductName"),
                          .chassis_tag = info("DMIChassisAssetTag"),
                          .bios = info("DMIBIOSVendor") + " " + info("DMIBIOSVersion")};
  machine.name = info("HostName");
  machine.system.kernel = info("OSRelease");
  machine.system.product = std::string(trimmed(firmware.vendor + " " + firmware.product));
  machine.system.provider = provider_of(firmware);
}

// Name, UUID and memory from whichever library's device stands below the GPU.
void read_gpu_device(const HwlocObject& object, Gpu& gpu) {
  const auto take = [&object](const char* name, std::string& field) {
    auto value = object.info(name);
    if (!value.empty()) field = std::move(value);
  };
  take("GPUModel", gpu.name);
  take("NVIDIAUUID", gpu.uuid);
  take("AMDUUID", gpu.uuid);
  const auto kilobytes = leading_number(object.info("CUDAGlobalMemorySize"));
  if (kilobytes && *kilobytes > 0 && *kilobytes < 1e13)
    gpu.memory = static_cast<std::uint64_t>(*kilobytes) * 1024;
}

void read_accelerators(const HwlocFile& file, const PciTree& pci, Machine& machine) {
  for (std::size_t i = 0; i < file.objects().size(); ++i) {
    const HwlocObject& object = file.objects()[i];
    if (object.type == "PCIDev" && object.address) {
      const auto at = pci.find(*object.address);
      if (at == pci.end()) continue;
      const PciFunction& function = at->second;
      if (is_gpu(function.pci)) {
        Gpu gpu;
        gpu.name = function.name;
        gpu.pci = function.pci;
        gpu.numa = nearest_numa(machine, function);
        machine.gpus.push_back(std::move(gpu));
      } else if (is_nvswitch(function.pci) || object.attribute("subtype") == "NVSwitch") {
        machine.nvswitches.push_back(
            {.pci = function.pci, .access_control = std::nullopt, .name = function.name});
      }
    } else if (object.type == "OSDev" && !machine.gpus.empty()) {
      const int parent = file.above(static_cast<int>(i),
                                    [](const HwlocObject& o) { return o.address.has_value(); });
      // In the file's order the GPU that a device lies in was the last one added.
      if (parent != HwlocObject::kNone &&
          file.objects()[static_cast<std::size_t>(parent)].address ==
              machine.gpus.back().pci.address)
        read_gpu_device(object, machine.gpus.back());
    }
  }
  for (Gpu& gpu : machine.gpus) gpu.sm = compute_capability_of(gpu.name);
}

}  // namespace

bool is_hwloc_xml(std::string_view text) {
  const std::size_t topology = text.find("<topology");
  return topology != std::string_view::npos &&
         text.find("<object type=", topology) != std::string_view::npos;
}

Reading read_hwloc_xml(const Recording& recording) {
  const HwlocFile file(recording);
  Reading reading;
  Machine& machine = reading.machine;
  machine.sources = {"hwloc-xml"};
  read_hwloc_processors(file, machine);
  read_system(file, machine);
  const PciTree pci = read_hwloc_pci(file, machine);
  read_accelerators(file, pci, machine);
  read_hwloc_nics(file, pci, machine);
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    attach(machine, pci, {DeviceKind::gpu, static_cast<int>(i)}, machine.gpus[i].pci.address);
  for (std::size_t i = 0; i < machine.nics.size(); ++i)
    attach(machine, pci, {DeviceKind::nic, static_cast<int>(i)}, machine.nics[i].pci.address);
  connect_numa_nodes(machine);
  read_hwloc_nvlinks(file, machine);
  if (file.is_truncated()) {
    machine.findings.push_back({.severity = Severity::warning,
                                .code = "damaged-recording",
                                .message =
                                    "the file is cut off, damaged or nested deeper than real "
                                    "ones are; what could be read of it is shown",
                                .where = recording.name,
                                .remedy = "record the machine again with lstopo"});
  }
  return reading;
}

}  // namespace lockstep::topology
