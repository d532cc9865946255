// A small library with NVML's C functions, for machines without a GPU: GPU 0000:03:00.0 with four
// NVLinks, of which one is inactive; two lead to a GPU of the bus, one to a switch that the bus
// does not show. Built as a shared library and opened by the probe as the real one is.
#include <cstdio>
#include <cstring>

#include "topology/probe/nvml_library.h"

using lockstep::topology::NvmlDevice;
using lockstep::topology::NvmlFieldValue;
using lockstep::topology::NvmlMemory;
using lockstep::topology::NvmlPciInfo;

namespace {

constexpr int kInvalidArgument = 2;
int handles[2];

int index_of(NvmlDevice device) {
  return reinterpret_cast<int*>(device) == &handles[0] ? 0 : 1;
}

void set_address(NvmlPciInfo* info, unsigned bus) {
  *info = {};
  std::snprintf(info->bus_id, sizeof(info->bus_id), "00000000:%02X:00.0", bus);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
const char* nvmlErrorString(int) {
  return "an error of the stand-in";
}

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "555.42.06");
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  *device = reinterpret_cast<NvmlDevice>(&handles[index]);
  return 0;
}

int nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPciInfo* info) {
  set_address(info, index_of(device) == 0 ? 0x05 : 0x03);  // not in the order of the bus
  return 0;
}

int nvmlDeviceGetName(NvmlDevice device, char* text, unsigned size) {
  std::snprintf(text, size, "Stand-in %d", index_of(device));
  return 0;
}

int nvmlDeviceGetUUID(NvmlDevice device, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%d", index_of(device));
  return 0;
}

int nvmlDeviceGetMemoryInfo(NvmlDevice, NvmlMemory* memory) {
  *memory = {.total = 80ULL << 30, .free = 0, .used = 0};
  return 0;
}

int nvmlDeviceGetCudaComputeCapability(NvmlDevice, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}

int nvmlDeviceGetNvLinkState(NvmlDevice, unsigned link, unsigned* active) {
  if (link >= 4) return kInvalidArgument;
  *active = link == 3 ? 0 : 1;
  return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, unsigned link, NvmlPciInfo* info) {
  set_address(info, link == 2 ? 0x99 : (index_of(device) == 0 ? 0x03 : 0x05));
  return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(NvmlDevice, unsigned link, unsigned* type) {
  *type = link == 2 ? 2 : 0;
  return 0;
}

int nvmlDeviceGetP2PStatus(NvmlDevice, NvmlDevice, unsigned capability, unsigned* status) {
  *status = capability == 0 ? 0 : 1;
  return 0;
}

int nvmlDeviceGetFieldValues(NvmlDevice device, int count, NvmlFieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].status = 0;
    values[i].value.as_unsigned = values[i].field == 170 ? (index_of(device) == 0 ? 10 : 0) : 44712;
  }
  return 0;
}

}  // extern "C"
