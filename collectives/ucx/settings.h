// What UCX is told, beside what its user has told it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::collectives::ucx {

struct Setting {
  std::string name;  // without UCX_
  std::string value;
  friend bool operator==(const Setting&, const Setting&) = default;
};

// Transports that leave the host: TCP, and RC where the chosen interface has an InfiniBand or RoCE
// device; never shared memory. Devices: `interface` ("eth0"; empty: all) and that device. A name
// for which `is_set` holds (UCX_TLS, ...) is the user's affair and left out. `sys` is where /sys
// lies.
[[nodiscard]] std::vector<Setting> settings_for(
    std::string_view interface, const std::filesystem::path& sys,
    const std::function<bool(const std::string&)>& is_set);

}  // namespace lockstep::collectives::ucx
