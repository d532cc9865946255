#include <fmt/format.h>

#include "engine/error.h"
#include "engine/plan.h"

namespace lockstep::engine {
namespace {

std::size_t align(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}
constexpr std::size_t kByteAlignment = 64;

// The parameter that a persistent per-parameter value belongs to, by name.
const std::string& owner(const Graph& graph, ValueId id) {
  const Value* value = &graph.value(id);
  while (value->of.valid()) value = &graph.value(value->of);
  return value->name;
}

bool per_parameter(Role role) {
  return role == Role::parameter || role == Role::gradient || role == Role::optimizer;
}

}  // namespace

void PersistentPlacement::place_parameters(const Graph& graph, std::vector<Bucket> buckets) {
  std::map<std::string, ValueId> by_name;
  for (ValueId id : graph.values_of(Role::parameter)) {
    if (!graph.value(id).alias_of.valid()) by_name[graph.value(id).name] = id;
  }
  std::size_t element = 0;
  for (Bucket& bucket : buckets) {
    bucket.begin = element;
    for (const std::string& name : bucket.parameters) {
      auto it = by_name.find(name);
      if (it == by_name.end()) throw Error(fmt::format("bucket of unknown parameter \"{}\"", name));
      const Value& value = graph.value(it->second);
      element_of_[name] = element;
      saved_.push_back(
          {name, Arena::parameters, element * sizeof(float), value.dtype, value.shape});
      element = align(element + static_cast<std::size_t>(value.shape.elements()), kBucketAlignment);
      by_name.erase(it);
    }
    bucket.end = element;
  }
  if (!by_name.empty()) {
    throw Error(fmt::format("parameter \"{}\" is in no bucket", by_name.begin()->first));
  }
  buckets_ = std::move(buckets);
  parameter_elements_ = element;
  bytes_[static_cast<std::size_t>(Arena::parameters)] = element * sizeof(float);
  bytes_[static_cast<std::size_t>(Arena::gradients)] = element * sizeof(float);
}

void PersistentPlacement::place(const Graph& graph) {
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value({i});
    if (!persistent(value.role) || value.alias_of.valid()) continue;
    const Arena arena = arena_of(value.role);
    std::size_t& bytes = bytes_[static_cast<std::size_t>(arena)];
    if (per_parameter(value.role)) {
      const std::string& parameter = owner(graph, {i});
      auto element = element_of_.find(parameter);
      if (element == element_of_.end()) {
        throw Error(
            fmt::format("\"{}\" belongs to \"{}\", which has no place", value.name, parameter));
      }
      if (value.role != Role::optimizer) continue;
      const std::size_t part = static_cast<std::size_t>(value.part);
      const std::size_t offset = (part * parameter_elements_ + element->second) * sizeof(float);
      if (offset_of_.emplace(std::pair{arena, value.name}, offset).second) {
        saved_.push_back({value.name, arena, offset, value.dtype, value.shape});
      }
      bytes = std::max(bytes, (part + 1) * parameter_elements_ * sizeof(float));
    } else if (offset_of_.emplace(std::pair{arena, value.name}, bytes).second) {
      if (value.role == Role::buffer) {
        saved_.push_back({value.name, arena, bytes, value.dtype, value.shape});
      }
      bytes = align(bytes + bytes_of(value), kByteAlignment);
    }
  }
}

std::size_t PersistentPlacement::offset_of(const Graph& graph, ValueId id) const {
  const Value& value = graph.value(graph.storage_of(id));
  if (value.role == Role::parameter || value.role == Role::gradient) {
    return element_of_.at(owner(graph, id)) * sizeof(float);
  }
  auto it = offset_of_.find({arena_of(value.role), value.name});
  if (it == offset_of_.end()) throw Error(fmt::format("value \"{}\" has no place", value.name));
  return it->second;
}

}  // namespace lockstep::engine
