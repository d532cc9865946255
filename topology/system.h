// What the operating system of a host allows and says about itself, as far as NCCL's choices depend
// on it.
//
// Thread rule: a value. Empty is unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::topology {

// A variable that is already set, and by whom: the environment wins over NCCL_CONF_FILE or
// ~/.nccl.conf, these over /etc/nccl.conf.
struct Setting {
  std::string variable, value;
  std::string origin;  // "environment", or the file's path

  bool operator==(const Setting&) const = default;
};

enum class Provider { none, azure, aws, gcp, oci };

struct System {
  std::string kernel;  // release
  std::string kernel_command_line;
  std::string product;  // DMI: vendor and product name, by which providers are recognised
  Provider provider = Provider::none;
  std::optional<bool> virtual_machine;
  std::optional<bool> container;
  std::string gpu_driver;    // version
  std::string nccl;          // version of the libnccl found: "2.28.9"
  std::string nccl_library;  // its path, to ask whether it knows a variable
  std::optional<int> iommu_groups;
  std::optional<bool> peer_memory;             // nvidia_peermem or nv_mem is registered
  std::optional<bool> dmabuf;                  // the kernel and driver could export GPU memory
  std::optional<std::uint64_t> shared_memory;  // bytes of /dev/shm
  std::optional<std::uint64_t> locked_memory;  // RLIMIT_MEMLOCK in bytes; UINT64_MAX is unlimited
  std::optional<bool> verbs_devices;           // /dev/infiniband/uverbs* is there
  std::optional<bool> fabric_manager;          // runs
  std::vector<Setting> settings;               // in falling precedence

  bool operator==(const System&) const = default;
};

}  // namespace lockstep::topology
