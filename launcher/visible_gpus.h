// How many GPUs a program started here would see.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace lockstep::launcher {

// The devices in `visible_devices` (the value of CUDA_VISIBLE_DEVICES; its items are opaque, and
// the list ends before "-1" or "NoDevFiles"), or, where it is not set, the files nvidia0, nvidia1
// ... in `devices` ("/dev" but in tests).
[[nodiscard]] std::uint32_t visible_gpus(std::optional<std::string_view> visible_devices,
                                         const std::filesystem::path& devices);

}  // namespace lockstep::launcher
