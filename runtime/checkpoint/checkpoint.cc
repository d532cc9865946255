#include "runtime/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <span>

#include "runtime/checkpoint/manifest.h"

namespace lockstep::runtime::checkpoint {

LoadedCheckpoint load_checkpoint(FileSystem& files, const std::filesystem::path& path) {
  LoadedCheckpoint loaded;
  const Manifest manifest = read_manifest(files, path);
  loaded.step = manifest.step;
  loaded.generation = manifest.generation;
  loaded.model_file = read_verified(files, path, manifest.entry(kModelFile));
  loaded.optimizer_file = read_verified(files, path, manifest.entry(kOptimizerFile));
  const auto state = read_verified(files, path, manifest.entry(kStateFile));
  const auto plan = read_verified(files, path, manifest.entry(kPlanFile));
  try {
    loaded.content.model =
        parse_safetensors(loaded.model_file, (path / kModelFile).string()).tensors;
    loaded.content.optimizer =
        parse_safetensors(loaded.optimizer_file, (path / kOptimizerFile).string()).tensors;
    loaded.content.state = nlohmann::json::parse(
        std::string_view(reinterpret_cast<const char*>(state.data()), state.size()));
  } catch (const SafetensorsError& error) {
    throw CheckpointError(
        fmt::format("checkpoint {} cannot be used: {}", path.string(), error.what()));
  } catch (const nlohmann::json::exception& error) {
    throw CheckpointError(fmt::format("checkpoint {} cannot be used: {} is not JSON ({})",
                                      path.string(), kStateFile, error.what()));
  }
  loaded.content.plan_json.assign(reinterpret_cast<const char*>(plan.data()), plan.size());
  return loaded;
}

}  // namespace lockstep::runtime::checkpoint
