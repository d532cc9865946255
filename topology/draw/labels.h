// How devices are called in drawings: one short line each.
//
// Thread rule: pure functions. Text from recordings is cut to a sensible length and freed of
// control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

// "GPU0 NVIDIA H100 80GB HBM3", "NIC3 mlx5_3 infiniband 400 Gb/s active (ib3)", "SW1 PCIe switch
// Gen5 x16", "NVS0 NVSwitch", "NUMA0 CPUs 0-55,112-167, 1024 GiB". An id that the machine does not
// have is only its id.
[[nodiscard]] std::string label_of(const Machine& machine, DeviceId id);

// "Gen5 x16" of what the link could do, " (now Gen1 x8)" after it where it does less; empty where
// nothing is known.
[[nodiscard]] std::string label_of(const PcieLink& link);

// "Intel(R) Xeon(R) Platinum 8480+, 2 sockets, 112 cores, 224 threads".
[[nodiscard]] std::string label_of(const Cpu& cpu);

// Of a cell in a matrix: "NV18", "PIX", "?"; "X" of a device to itself.
[[nodiscard]] std::string label_of(const Path& path);

// What a legend says of that kind: "through the CPU".
[[nodiscard]] std::string_view meaning_of(PathKind kind);

// "8 GPUs", "1 GPU", "no GPU"; "GPUs not shown" where every recording is of a kind that does not
// show them all.
[[nodiscard]] std::string gpus_in_words(const Machine& machine);

// "1 switch", "3 switches", where `plural` is "es".
[[nodiscard]] std::string counted(std::size_t count, std::string_view what,
                                  std::string_view plural = "s");

// Printable, at most `most` bytes, with "..." where something was cut.
[[nodiscard]] std::string plain(std::string_view text, std::size_t most = 64);

}  // namespace lockstep::topology
