#include "collectives/ucx/settings.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

namespace lockstep::collectives::ucx {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// UCX counts ports from 1, the kernel from 0.
int port_of(const fs::path& interface) {
  int port = 0;
  std::ifstream(interface / "dev_port") >> port;
  return port + 1;
}

}  // namespace

std::vector<Setting> settings_for(std::string_view interface, const fs::path& sys,
                                  const std::function<bool(const std::string&)>& is_set) {
  std::string devices(interface);
  bool has_rdma = false;
  if (interface.empty()) {
    has_rdma = !names_in(sys / "class/infiniband").empty();
  } else {
    const fs::path folder = sys / "class/net" / interface;
    for (const std::string& device : names_in(folder / "device/infiniband")) {
      devices += "," + device + ":" + std::to_string(port_of(folder));
      has_rdma = true;
    }
  }
  std::vector<Setting> settings = {{"TLS", has_rdma ? "tcp,rc" : "tcp"}};
  if (!devices.empty()) settings.push_back({"NET_DEVICES", devices});
  std::erase_if(settings, [&](const Setting& setting) { return is_set("UCX_" + setting.name); });
  return settings;
}

}  // namespace lockstep::collectives::ucx
