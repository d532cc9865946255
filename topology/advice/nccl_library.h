// Asks a libnccl which variables it reads, without loading it.
//
// NCCL looks its variables up by name, so that each name lies in the library's read-only data as a
// text of its own. Thread rule: pure functions of the file. Cost: the file is mapped, and of an ELF
// file only .rodata (200 KB of the 200 MB) is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology {

// The names "NCCL_..." that are whole texts in `image`, sorted, each once. Any bytes may be given;
// what is no ELF file of 64 bits is searched from end to end.
[[nodiscard]] std::vector<std::string> variables_in(std::string_view image);

// Those of the file; nothing where it cannot be read or has none, as a stub or a script would.
[[nodiscard]] std::optional<std::vector<std::string>> variables_of_library(const std::string& path);

}  // namespace lockstep::topology
