// The functions of libnvidia-ml that the probe calls, by their C names.
//
// Structures and numbers are those of nvml.h (CUDA 12). A function that a library of another age
// lacks is null. Thread rule: one thread.
#pragma once

#include <memory>
#include <string>

namespace lockstep::topology {

struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct NvmlMemory {
  unsigned long long total, free, used;
};

struct NvmlFieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  unsigned value_type;
  int status;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long as_unsigned_long;
    unsigned long long as_unsigned_long_long;
  } value;
};

inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlPeerOk = 0;
inline constexpr unsigned kNvmlRemoteGpu = 0;
inline constexpr unsigned kNvmlRemoteSwitch = 2;
inline constexpr unsigned kNvmlFieldC2cCount = 170;
inline constexpr unsigned kNvmlFieldC2cMaxBandwidth = 172;  // MB/s of a link

using NvmlDevice = struct NvmlDeviceOpaque*;

class NvmlLibrary {
 public:
  // Opens and initialises the library; null where that fails, with the reason in `why`.
  static std::unique_ptr<NvmlLibrary> open(const std::string& path, std::string& why);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device_by_index)(unsigned, NvmlDevice*) = nullptr;
  int (*pci_info)(NvmlDevice, NvmlPciInfo*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*compute_capability)(NvmlDevice, int*, int*) = nullptr;
  int (*nvlink_state)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*nvlink_remote)(NvmlDevice, unsigned, NvmlPciInfo*) = nullptr;
  int (*nvlink_remote_type)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*peer_status)(NvmlDevice, NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*field_values)(NvmlDevice, int, NvmlFieldValue*) = nullptr;

  [[nodiscard]] std::string error_text(int status) const;

 private:
  explicit NvmlLibrary(void* handle);

  void* handle_;  // of dlopen
  int (*shutdown_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
  bool started_ = false;
};

}  // namespace lockstep::topology
