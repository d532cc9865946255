// Makers of PCI devices, by the numbers that the PCI-SIG gave them.
#pragma once

#include <cstdint>

namespace lockstep::topology {

inline constexpr std::uint32_t kAmd = 0x1002;            // its GPUs, once ATI's
inline constexpr std::uint32_t kAmdProcessors = 0x1022;  // its CPUs, and what is in them
inline constexpr std::uint32_t kNvidia = 0x10de;
inline constexpr std::uint32_t kMellanox = 0x15b3;  // NVIDIA's adapters

}  // namespace lockstep::topology
