#include "topology/json_names.h"

#include <array>
#include <cstddef>

namespace lockstep::topology {
namespace {

constexpr std::array<std::string_view, 10> kInterfaceKinds{
    "unknown", "physical", "loopback", "bridge", "bond",
    "vlan",    "vxlan",    "veth",     "tunnel", "infiniband"};
constexpr std::array<std::string_view, 5> kProviders{"none", "azure", "aws", "gcp", "oci"};
constexpr std::array<std::string_view, 3> kAdapterKinds{"host", "aggregation", "router"};

template <typename Names>
std::string_view at(const Names& names, int position) {
  const auto index = static_cast<std::size_t>(position);
  return index < names.size() ? names[index] : std::string_view();
}

}  // namespace

std::string_view name_of(InterfaceKind kind) {
  return at(kInterfaceKinds, static_cast<int>(kind));
}

std::string_view name_of(Provider provider) {
  return at(kProviders, static_cast<int>(provider));
}

std::string_view name_of(AdapterKind kind) {
  return at(kAdapterKinds, static_cast<int>(kind));
}

}  // namespace lockstep::topology
