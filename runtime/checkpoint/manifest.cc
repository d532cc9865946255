#include "runtime/checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string_view>

#include "runtime/checkpoint/crc32c.h"

namespace lockstep::runtime::checkpoint {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kChunk = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view file,
                         std::string_view reason) {
  throw CheckpointError(
      fmt::format("checkpoint {} cannot be used: {} {}", path.string(), file, reason));
}

std::string hex(std::uint32_t crc) {
  return fmt::format("{:08x}", crc);
}

std::string first_line(std::string_view rest) {
  return fmt::format("{{\"manifest_crc32c\": \"{}\",\n",
                     hex(crc32c(std::as_bytes(std::span(rest)))));
}

std::string read_text(FileSystem& files, const std::filesystem::path& path) {
  const auto bytes = read_file(files, path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require_match(const std::filesystem::path& path, const ManifestEntry& entry,
                   std::uint64_t size, std::uint32_t crc) {
  if (size != entry.size) {
    refuse(path, entry.name, fmt::format("has {} bytes, the manifest says {}", size, entry.size));
  }
  if (crc != entry.crc32c) {
    refuse(path, entry.name,
           fmt::format("is damaged: its CRC-32C is {}, the manifest says {}", hex(crc),
                       hex(entry.crc32c)));
  }
}

void verify_file(FileSystem& files, const std::filesystem::path& path, const ManifestEntry& entry,
                 std::span<std::byte> buffer) {
  const auto file = files.open_file(path / entry.name);
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  for (std::size_t got = buffer.size(); got == buffer.size();) {
    got = file->read(buffer);
    crc = crc32c(buffer.first(got), crc);
    size += got;
  }
  require_match(path, entry, size, crc);
}

}  // namespace

bool Manifest::has(std::string_view name) const {
  return std::any_of(files.begin(), files.end(),
                     [&](const ManifestEntry& file) { return file.name == name; });
}

const ManifestEntry& Manifest::entry(std::string_view name) const {
  return *std::find_if(files.begin(), files.end(),
                       [&](const ManifestEntry& file) { return file.name == name; });
}

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const ManifestEntry& file : files) sum += file.size;
  return sum;
}

std::string to_text(const Manifest& manifest) {
  std::string rest =
      fmt::format(" \"version\": {}, \"step\": {}, \"generation\": {},\n \"files\": [", kVersion,
                  manifest.step, manifest.generation);
  std::string_view between = "\n";
  for (const ManifestEntry& file : manifest.files) {
    rest += fmt::format("{}  {{\"name\": \"{}\", \"size\": {}, \"crc32c\": \"{}\"}}", between,
                        file.name, file.size, hex(file.crc32c));
    between = ",\n";
  }
  rest += "]}\n";
  return first_line(rest) + rest;
}

Manifest read_manifest(FileSystem& files, const std::filesystem::path& path) {
  std::string text;
  try {
    text = read_text(files, path / kManifestFile);
  } catch (const FileSystemError& error) {
    refuse(path, kManifestFile, fmt::format("cannot be read ({})", error.what()));
  }
  const std::size_t newline = text.find('\n');
  const std::size_t line = newline == std::string::npos ? text.size() : newline + 1;
  const std::string_view rest = std::string_view(text).substr(line);
  if (text.substr(0, line) != first_line(rest)) {
    refuse(path, kManifestFile, "is damaged: it does not agree with its own checksum");
  }
  Manifest manifest;
  try {
    const json object = json::parse(text);
    if (object.at("version") != kVersion) {
      refuse(path, kManifestFile,
             fmt::format("is of version {}, this program reads version {}",
                         object.at("version").dump(), kVersion));
    }
    manifest.step = object.at("step").get<std::int64_t>();
    manifest.generation = object.at("generation").get<std::uint64_t>();
    for (const json& file : object.at("files")) {
      const auto crc = file.at("crc32c").get<std::string>();
      manifest.files.push_back({file.at("name").get<std::string>(),
                                file.at("size").get<std::uint64_t>(),
                                static_cast<std::uint32_t>(std::stoul(crc, nullptr, 16))});
    }
  } catch (const json::exception& error) {
    refuse(path, kManifestFile, fmt::format("is no manifest: {}", error.what()));
  } catch (const std::logic_error& error) {  // from stoul
    refuse(path, kManifestFile,
           fmt::format("holds a checksum that is no number: {}", error.what()));
  }
  for (const char* name : {kModelFile, kOptimizerFile, kStateFile, kPlanFile}) {
    if (!manifest.has(name)) refuse(path, kManifestFile, fmt::format("names no {}", name));
  }
  return manifest;
}

std::vector<std::byte> read_verified(FileSystem& files, const std::filesystem::path& path,
                                     const ManifestEntry& entry) {
  std::vector<std::byte> bytes;
  try {
    bytes = read_file(files, path / entry.name);
  } catch (const FileSystemError& error) {
    refuse(path, entry.name, fmt::format("cannot be read ({})", error.what()));
  }
  require_match(path, entry, bytes.size(), crc32c(bytes));
  return bytes;
}

CheckpointInfo verify_checkpoint(FileSystem& files, const std::filesystem::path& path) {
  const Manifest manifest = read_manifest(files, path);
  std::vector<std::byte> buffer(kChunk);
  for (const ManifestEntry& entry : manifest.files) {
    try {
      verify_file(files, path, entry, buffer);
    } catch (const FileSystemError& error) {
      refuse(path, entry.name, fmt::format("cannot be read ({})", error.what()));
    }
  }
  return {path, manifest.step, manifest.generation, manifest.bytes()};
}

}  // namespace lockstep::runtime::checkpoint
