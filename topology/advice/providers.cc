#include "topology/advice/providers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "topology/letters.h"
#include "topology/provider_marks.h"

namespace lockstep::topology {
namespace {

// The plug-in chooses by instance type, generates the topology itself, and drives EFA, to which
// verbs and socket settings do not apply.
constexpr auto kAws = std::to_array<std::string_view>(
    {"NCCL_BUFFSIZE", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_NVLS_CHUNKSIZE",
     "NCCL_NVLSTREE_MAX_CHUNKSIZE", "NCCL_NET_FORCE_FLUSH", "NCCL_NETDEVS_POLICY", "NCCL_TOPO_FILE",
     "NCCL_PROTO", "NCCL_ALGO", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN",
     "NCCL_NET_GDR_LEVEL", "NCCL_CROSS_NIC", "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"});

// The guest configuration checker refuses other values than those of the image's profile.
constexpr auto kGcp = std::to_array<std::string_view>(
    {"NCCL_BUFFSIZE", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE",
     "NCCL_CROSS_NIC", "NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_NET_GDR_LEVEL",
     "NCCL_NVLS_ENABLE", "NCCL_TUNER_PLUGIN", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_TOPO_FILE",
     "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"});

// What the published /etc/nccl.conf of each shape says about the fabric.
constexpr auto kOci = std::to_array<std::string_view>(
    {"NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_GID_INDEX", "NCCL_IB_QPS_PER_CONNECTION",
     "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_TIMEOUT", "NCCL_CUMEM_ENABLE", "NCCL_NET_PLUGIN",
     "NCCL_IGNORE_CPU_AFFINITY"});

constexpr auto kAzure = std::to_array<std::string_view>({"NCCL_GRAPH_FILE"});

struct Profile {
  std::span<const std::string_view> managed;
  std::string_view manager;
};

Profile profile_of(Provider provider) {
  switch (provider) {
    case Provider::aws:
      return {kAws, "aws-ofi-nccl chooses it by instance type"};
    case Provider::gcp:
      return {kGcp, "Google's NCCL profile of the image sets it"};
    case Provider::oci:
      return {kOci, "OCI's nccl.conf of the shape sets it"};
    case Provider::azure:
      return {kAzure, "Azure's image sets it"};
    case Provider::none:
      break;
  }
  return {};
}

}  // namespace

Provider provider_of(const System& system) {
  if (system.provider != Provider::none) return system.provider;
  const std::string product = in_small_letters(system.product);
  const auto says = [&](std::string_view word) { return product.find(word) != std::string::npos; };
  if (says("amazon")) return Provider::aws;
  if (says("google compute engine") || says("google cloud")) return Provider::gcp;
  if (says("oraclecloud")) return Provider::oci;
  if (says("azure") || (says("microsoft") && says("virtual machine"))) return Provider::azure;
  // A container or a file of settings does not show the product.
  return provider_of_settings(system.settings);
}

std::string_view to_string(Provider provider) {
  switch (provider) {
    case Provider::azure:
      return "Azure";
    case Provider::aws:
      return "AWS";
    case Provider::gcp:
      return "Google Cloud";
    case Provider::oci:
      return "OCI";
    case Provider::none:
      break;
  }
  return "";
}

std::string_view manager_of(Provider provider, std::string_view variable) {
  const Profile profile = profile_of(provider);
  const bool managed =
      std::find(profile.managed.begin(), profile.managed.end(), variable) != profile.managed.end();
  return managed ? profile.manager : std::string_view();
}

std::string managers_of(std::string_view variable) {
  std::string names;
  for (const Provider provider : {Provider::azure, Provider::aws, Provider::gcp, Provider::oci}) {
    if (manager_of(provider, variable).empty()) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " or ", to_string(provider));
  }
  return names;
}

std::string_view publisher_of(Provider provider, const Setting& setting) {
  const auto& [variable, value, origin] = setting;
  if (provider == Provider::azure) {
    const bool own = (variable == "NCCL_TOPO_FILE" && value.starts_with("/opt/microsoft/")) ||
                     (variable == "NCCL_IB_PCI_RELAXED_ORDERING" && value == "1") ||
                     (variable == "NCCL_IGNORE_CPU_AFFINITY" && value == "1");
    if (own) return "Azure's image sets it";
  }
  if (provider == Provider::oci) {
    const bool own = (variable == "NCCL_SOCKET_IFNAME" && value == "eth0") ||
                     (variable == "NCCL_IB_HCA" && value.starts_with("=mlx5_"));
    if (own) return "OCI's nccl.conf of the shape sets it so";
  }
  return {};
}

}  // namespace lockstep::topology
