// manifest.json: what a checkpoint is made of, and how one can tell that nothing of it has changed.
//
//   {"manifest_crc32c": "1f00ba12",
//    "version": 1, "step": 500, "generation": 0,
//    "files": [{"name": "model.safetensors", "size": 178040, "crc32c": "e3069283"}, ...]}
//
// The first line holds the checksum of the rest, byte for byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/file_system.h"

namespace lockstep::runtime::checkpoint {

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kPlanFile = "plan.json";
inline constexpr const char* kManifestFile = "manifest.json";

struct ManifestEntry {
  std::string name;
  std::uint64_t size = 0;
  std::uint32_t crc32c = 0;
};

struct Manifest {
  std::int64_t step = 0;
  std::uint64_t generation = 0;
  std::vector<ManifestEntry> files;

  [[nodiscard]] bool has(std::string_view name) const;
  // REQUIRES: has(name); read_manifest sees to it for the four files above.
  [[nodiscard]] const ManifestEntry& entry(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes() const;
};

[[nodiscard]] std::string to_text(const Manifest& manifest);

// Reads and checks the manifest of the checkpoint at `path`, and that it names every file that a
// checkpoint has. Throws CheckpointError that names the checkpoint, the file and the fault.
[[nodiscard]] Manifest read_manifest(FileSystem& files, const std::filesystem::path& path);

// Reads a file of a checkpoint and holds it against its entry. Throws CheckpointError as above.
[[nodiscard]] std::vector<std::byte> read_verified(FileSystem& files,
                                                   const std::filesystem::path& path,
                                                   const ManifestEntry& entry);

// The same for all files, without keeping them: memory 1 MiB. Returns what the manifest says.
// Throws CheckpointError.
[[nodiscard]] CheckpointInfo verify_checkpoint(FileSystem& files,
                                               const std::filesystem::path& path);

}  // namespace lockstep::runtime::checkpoint
