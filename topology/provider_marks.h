// By what else than its firmware a cloud provider is known: what only it sets, and its name.
//
// Thread rule: pure functions. Sources: as topology/advice/providers.h.
#pragma once

#include <span>
#include <string_view>

#include "topology/system.h"

namespace lockstep::topology {

// Whose machine the settings are for: variables that only one provider's plug-ins read, paths of
// its images, or values that stand together in its published files only; none: not said.
[[nodiscard]] Provider provider_of_settings(std::span<const Setting> settings);

// The one provider that `words` name, a file's name or its heading: "aws-p5.env", "OCI H100",
// "Google Cloud"; none where they name none, or several.
[[nodiscard]] Provider provider_named(std::string_view words);

}  // namespace lockstep::topology
