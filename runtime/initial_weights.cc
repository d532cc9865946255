#include "runtime/initial_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "engine/bfloat16.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/tensor_match.h"

namespace lockstep::runtime {
namespace {

using checkpoint::CheckpointError;
using checkpoint::TensorType;
using checkpoint::TensorView;

constexpr std::string_view kPrefix = "transformer.";
constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kTable = "transformer.wte.weight";

bool beside_weights(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".num_batches_tracked");
}

// Parameters and statistics of the model, with the types that a file may have.
std::vector<TensorView> wanted_tensors(const Replica& replica) {
  std::vector<TensorView> wanted;
  for (const SavedTensor& tensor : replica.tensors()) {
    if (tensor.arena == engine::Arena::optimizer) continue;
    wanted.push_back(
        {tensor.name, checkpoint::tensor_type(tensor.dtype), tensor.shape.extents(), tensor.bytes});
  }
  return wanted;
}

bool all_have_prefix(const std::vector<TensorView>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorView& tensor) { return tensor.name.starts_with(kPrefix); });
}

// The file's tensors under the model's names.
std::vector<TensorView> renamed(std::vector<TensorView> tensors, bool prefixed) {
  std::erase_if(tensors, [](const TensorView& tensor) { return beside_weights(tensor.name); });
  for (TensorView& tensor : tensors) {
    if (prefixed && tensor.name != kHead && !tensor.name.starts_with(kPrefix)) {
      tensor.name.insert(0, kPrefix);
    }
  }
  return tensors;
}

void remove_tied_head(std::vector<TensorView>& tensors, const std::filesystem::path& path) {
  auto named = [&](std::string_view name) {
    return std::find_if(tensors.begin(), tensors.end(),
                        [&](const TensorView& tensor) { return tensor.name == name; });
  };
  const auto head = named(kHead), table = named(kTable);
  if (head == tensors.end() || table == tensors.end()) return;
  if (head->dtype != table->dtype || head->shape != table->shape ||
      !std::ranges::equal(head->bytes, table->bytes)) {
    throw CheckpointError(
        fmt::format("{}: \"{}\" differs from \"{}\", but the model has one table for both",
                    path.string(), kHead, kTable));
  }
  tensors.erase(head);
}

void copy(const TensorView& from, std::span<std::byte> to) {
  if (from.dtype != TensorType::bf16) {
    std::memcpy(to.data(), from.bytes.data(), to.size());
    return;
  }
  for (std::size_t i = 0; i < from.bytes.size() / sizeof(engine::BFloat16); ++i) {
    engine::BFloat16 value;
    std::memcpy(&value, from.bytes.data() + i * sizeof value, sizeof value);
    const float wide = engine::to_float(value);
    std::memcpy(to.data() + i * sizeof wide, &wide, sizeof wide);
  }
}

}  // namespace

void load_weights(Replica& replica, checkpoint::FileSystem& files,
                  const std::filesystem::path& path) {
  std::vector<std::byte> bytes;
  try {
    bytes = checkpoint::read_file(files, path);
  } catch (const checkpoint::FileSystemError& error) {
    throw CheckpointError(fmt::format("model.weights: {}", error.what()));
  }
  const std::vector<TensorView> wanted = wanted_tensors(replica);
  std::vector<TensorView> found =
      renamed(checkpoint::parse_safetensors(bytes, path.string()).tensors, all_have_prefix(wanted));
  remove_tied_head(found, path);
  std::vector<TensorView> as_f32 = found;
  for (TensorView& tensor : as_f32) {
    if (tensor.dtype == TensorType::bf16) tensor.dtype = TensorType::f32;
  }
  if (const auto sentences = differences(wanted, as_f32); !sentences.empty()) {
    throw CheckpointError(
        fmt::format("{} does not hold this model's weights:{}", path.string(), listed(sentences)));
  }
  std::map<std::string_view, const TensorView*> by_name;
  for (const TensorView& tensor : found) by_name[tensor.name] = &tensor;
  for (const SavedTensor& tensor : replica.tensors()) {
    if (tensor.arena != engine::Arena::optimizer) copy(*by_name.at(tensor.name), tensor.bytes);
  }
}

}  // namespace lockstep::runtime
