#include "topology/probe/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace lockstep::topology {
namespace {

template <typename Function>
void find(void* handle, const char* symbol, Function& function) {
  // dlsym gives functions as object pointers; POSIX makes the cast good.
  function = reinterpret_cast<Function>(dlsym(handle, symbol));
}

}  // namespace

NvmlLibrary::NvmlLibrary(void* handle) : handle_(handle) {
  find(handle, "nvmlShutdown", shutdown_);
  find(handle, "nvmlErrorString", error_string_);
  find(handle, "nvmlSystemGetDriverVersion", driver_version);
  find(handle, "nvmlDeviceGetCount_v2", device_count);
  find(handle, "nvmlDeviceGetHandleByIndex_v2", device_by_index);
  find(handle, "nvmlDeviceGetPciInfo_v3", pci_info);
  find(handle, "nvmlDeviceGetName", name);
  find(handle, "nvmlDeviceGetUUID", uuid);
  find(handle, "nvmlDeviceGetMemoryInfo", memory);
  find(handle, "nvmlDeviceGetCudaComputeCapability", compute_capability);
  find(handle, "nvmlDeviceGetNvLinkState", nvlink_state);
  find(handle, "nvmlDeviceGetNvLinkRemotePciInfo_v2", nvlink_remote);
  find(handle, "nvmlDeviceGetNvLinkRemoteDeviceType", nvlink_remote_type);
  find(handle, "nvmlDeviceGetP2PStatus", peer_status);
  find(handle, "nvmlDeviceGetFieldValues", field_values);
}

std::unique_ptr<NvmlLibrary> NvmlLibrary::open(const std::string& path, std::string& why) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    why = reason != nullptr ? reason : "dlopen failed";
    return nullptr;
  }
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  int (*start)() = nullptr;
  find(handle, "nvmlInit_v2", start);
  if (start == nullptr || library->device_count == nullptr || library->device_by_index == nullptr ||
      library->pci_info == nullptr) {
    why = fmt::format("{} lacks functions that every NVML since 2019 has", path);
    return nullptr;
  }
  const int status = start();
  if (status != kNvmlSuccess) {
    why = fmt::format("nvmlInit_v2 failed: {}", library->error_text(status));
    return nullptr;
  }
  library->started_ = true;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (started_ && shutdown_ != nullptr) shutdown_();
  dlclose(handle_);
}

std::string NvmlLibrary::error_text(int status) const {
  const char* const text = error_string_ != nullptr ? error_string_(status) : nullptr;
  return text != nullptr ? text : fmt::format("NVML status {}", status);
}

}  // namespace lockstep::topology
