#include "topology/probe/provider.h"

#include "topology/probe/values.h"

namespace lockstep::topology {

Firmware read_firmware(const FileTree& tree) {
  const auto field = [&tree](std::string_view name) {
    auto text = read_value(tree, "/sys/class/dmi/id/" + std::string(name));
    if (!text) text = read_value(tree, "/sys/devices/virtual/dmi/id/" + std::string(name));
    return text.value_or("");
  };
  return {.vendor = field("sys_vendor"),
          .product = field("product_name"),
          .chassis_tag = field("chassis_asset_tag"),
          .bios = field("bios_vendor") + " " + field("bios_version")};
}

Provider provider_of(const Firmware& firmware) {
  // Every Azure machine carries this tag; a Hyper-V host of one's own does not.
  constexpr std::string_view kAzure = "7783-7084-3265-9085-8269-3286-77";
  if (firmware.chassis_tag == kAzure) return Provider::azure;
  if (firmware.chassis_tag == "OracleCloud.com") return Provider::oci;
  if (firmware.vendor == "Amazon EC2" || firmware.chassis_tag == "Amazon EC2" ||
      firmware.bios.find("amazon") != std::string::npos)
    return Provider::aws;
  if (firmware.vendor == "Google" && firmware.product.starts_with("Google")) return Provider::gcp;
  return Provider::none;
}

}  // namespace lockstep::topology
