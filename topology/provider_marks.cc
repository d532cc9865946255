#include "topology/provider_marks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "topology/letters.h"

namespace lockstep::topology {
namespace {

using Settings = std::span<const Setting>;

// Any variable whose name, or any value that, begins so.
struct Mark {
  std::string_view variable, value;
  Provider provider;
};

constexpr std::array kMarks{
    Mark{"NCCL_FASTRAK_", "", Provider::gcp},
    Mark{"NCCL_GPUDIRECTTCPX_", "", Provider::gcp},
    Mark{"NCCL_SHIMNET_", "", Provider::gcp},
    Mark{"NCCL_", "/var/lib/tcpxo/", Provider::gcp},
    Mark{"NCCL_", "/var/lib/gib/", Provider::gcp},
    Mark{"FI_PROVIDER", "efa", Provider::aws},
    Mark{"FI_EFA_", "", Provider::aws},
    Mark{"NCCL_", "/opt/amazon/", Provider::aws},
    Mark{"NCCL_", "/opt/aws-ofi-nccl/", Provider::aws},
    Mark{"NCCL_", "/opt/microsoft/", Provider::azure},
};

bool bears(const Setting& setting, const Mark& mark) {
  return setting.variable.starts_with(mark.variable) && setting.value.starts_with(mark.value);
}

bool has(Settings settings, std::string_view variable, std::string_view value) {
  return std::ranges::any_of(settings, [&](const Setting& setting) {
    return setting.variable == variable && setting.value == value;
  });
}

// The lossless class of OCI's fabric, DSCP 10 with ECN, with the GID and level it is written with.
bool has_class_of_oci(Settings settings) {
  return has(settings, "NCCL_IB_TC", "41") && has(settings, "NCCL_IB_SL", "0") &&
         has(settings, "NCCL_IB_GID_INDEX", "3");
}

// What aws-ofi-nccl sets on p5.
bool has_chunks_of_aws(Settings settings) {
  return has(settings, "NCCL_NET_FORCE_FLUSH", "0") &&
         has(settings, "NCCL_NVLS_CHUNKSIZE", "524288") &&
         has(settings, "NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288");
}

Provider provider_of_word(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, Provider>, 7> kWords{{
      {"aws", Provider::aws},
      {"amazon", Provider::aws},
      {"azure", Provider::azure},
      {"gcp", Provider::gcp},
      {"google", Provider::gcp},
      {"oci", Provider::oci},
      {"oracle", Provider::oci},
  }};
  const auto* const found = std::ranges::find_if(
      kWords, [&](const auto& known) { return same_letters(known.first, word); });
  return found == kWords.end() ? Provider::none : found->second;
}

}  // namespace

Provider provider_of_settings(Settings settings) {
  for (const Mark& mark : kMarks) {
    if (std::ranges::any_of(settings, [&](const Setting& one) { return bears(one, mark); }))
      return mark.provider;
  }
  if (has_class_of_oci(settings)) return Provider::oci;
  return has_chunks_of_aws(settings) ? Provider::aws : Provider::none;
}

Provider provider_named(std::string_view words) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  Provider named = Provider::none;
  while (!words.empty()) {
    const auto begin = std::ranges::find_if(words, is_letter);
    words.remove_prefix(static_cast<std::size_t>(begin - words.begin()));
    const auto end = std::ranges::find_if_not(words, is_letter);
    const auto length = static_cast<std::size_t>(end - words.begin());
    const Provider found = provider_of_word(words.substr(0, length));
    words.remove_prefix(length);
    if (found == Provider::none || found == named) continue;
    if (named != Provider::none) return Provider::none;
    named = found;
  }
  return named;
}

}  // namespace lockstep::topology
