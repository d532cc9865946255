// Which cloud a host belongs to, by what its firmware says of itself.
//
// Source of the marks: the providers' own documentation of DMI fields, as cloud-init's ds-identify
// uses them. Thread rule: pure functions.
#pragma once

#include <string>

#include "topology/probe/file_tree.h"
#include "topology/system.h"

namespace lockstep::topology {

struct Firmware {
  std::string vendor;       // sys_vendor
  std::string product;      // product_name
  std::string chassis_tag;  // chassis_asset_tag
  std::string bios;         // bios_vendor and bios_version
};

[[nodiscard]] Firmware read_firmware(const FileTree& tree);
[[nodiscard]] Provider provider_of(const Firmware& firmware);

}  // namespace lockstep::topology
