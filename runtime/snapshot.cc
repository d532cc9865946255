#include "runtime/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>

#include "runtime/tensor_match.h"

namespace lockstep::runtime {
namespace {

using checkpoint::TensorView;
using engine::Arena;

TensorView view_of(const SavedTensor& tensor) {
  return {tensor.name, checkpoint::tensor_type(tensor.dtype), tensor.shape.extents(), tensor.bytes};
}

constexpr std::string_view kBatchCounter = ".num_batches_tracked";

// torch's batch norm counts its batches beside the running statistics.
std::optional<std::string> counter_beside(const std::string& name) {
  constexpr std::string_view kSuffix = ".running_mean";
  if (!name.ends_with(kSuffix)) return std::nullopt;
  return name.substr(0, name.size() - kSuffix.size()) + std::string(kBatchCounter);
}

}  // namespace

Snapshot::Snapshot(Replica& replica, const ResumePoint& point, Origin origin)
    : batches_tracked_(point.applied) {
  for (const SavedTensor& tensor : replica.tensors()) {
    auto& list = tensor.arena == Arena::optimizer ? content_.optimizer : content_.model;
    list.push_back(view_of(tensor));
    if (auto counter = counter_beside(tensor.name)) {
      list.push_back({*counter,
                      checkpoint::TensorType::i64,
                      {},
                      std::as_bytes(std::span(&batches_tracked_, 1))});
    }
  }
  content_.state = {{"step", point.step},
                    {"applied", point.applied},
                    {"epoch", point.epoch},
                    {"step_in_epoch", point.step_in_epoch},
                    {"job", std::move(origin.job)}};
  if (!origin.vocabulary.empty()) {
    content_.state["vocabulary"] = nlohmann::json::parse(origin.vocabulary);
  }
  content_.plan_json = std::move(origin.plan_json);
}

ResumePoint restore(Replica& replica, const checkpoint::LoadedCheckpoint& loaded,
                    const std::string& vocabulary) {
  const auto saved = loaded.content.state.find("vocabulary");
  if (saved != loaded.content.state.end() && !vocabulary.empty() &&
      *saved != nlohmann::json::parse(vocabulary)) {
    throw checkpoint::CheckpointError(fmt::format(
        "the checkpoint of step {} was trained on text of {} characters, the data has {} or "
        "others: "
        "a token does not stand for the same; train on the text whose vocabulary it has",
        loaded.step, saved->size(), nlohmann::json::parse(vocabulary).size()));
  }
  std::vector<TensorView> found, wanted;
  for (const auto* list : {&loaded.content.model, &loaded.content.optimizer}) {
    std::copy_if(list->begin(), list->end(), std::back_inserter(found),
                 [](const TensorView& tensor) { return !tensor.name.ends_with(kBatchCounter); });
  }
  for (const SavedTensor& tensor : replica.tensors()) wanted.push_back(view_of(tensor));
  if (const auto sentences = differences(wanted, found); !sentences.empty()) {
    throw checkpoint::CheckpointError(
        fmt::format("the checkpoint of step {} is of another model or optimizer:{}", loaded.step,
                    listed(sentences)));
  }
  std::map<std::string_view, std::span<const std::byte>> bytes;
  for (const TensorView& tensor : found) bytes[tensor.name] = tensor.bytes;
  for (const SavedTensor& tensor : replica.tensors()) {
    std::memcpy(tensor.bytes.data(), bytes.at(tensor.name).data(), tensor.bytes.size());
  }
  try {
    const nlohmann::json& state = loaded.content.state;
    return {.step = state.at("step"),
            .applied = state.at("applied"),
            .epoch = state.at("epoch"),
            .step_in_epoch = state.at("step_in_epoch")};
  } catch (const nlohmann::json::exception& error) {
    throw checkpoint::CheckpointError(
        fmt::format("state.json of the checkpoint of step {}: {}", loaded.step, error.what()));
  }
}

void share(Replica& replica, collectives::Communicator& communicator, ResumePoint& point) {
  std::array<std::int64_t, 4> numbers{point.step, point.applied, point.epoch, point.step_in_epoch};
  auto broadcast = [&](void* data, std::size_t count, engine::DType type) {
    communicator.stream().wait(communicator.broadcast({data, count, type}, 0));
  };
  broadcast(numbers.data(), numbers.size(), engine::DType::i64);
  point = {numbers[0], numbers[1], numbers[2], numbers[3]};
  for (const SavedTensor& tensor : replica.tensors()) {
    // Where all ranks share what is one copy a host, nothing of that moves.
    broadcast(tensor.bytes.data(), static_cast<std::size_t>(tensor.shape.elements()), tensor.dtype);
  }
  replica.state().step = static_cast<std::uint64_t>(point.step);
  replica.state().applied = static_cast<std::uint64_t>(point.applied);
  replica.refresh();
}

}  // namespace lockstep::runtime
