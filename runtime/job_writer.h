// The visitor that writes a spec as a JSON object: every key, with its value.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/job_fields.h"

namespace lockstep::runtime {

template <typename T>
[[nodiscard]] nlohmann::json value_to_json(const T& value) {
  return value;
}
[[nodiscard]] inline nlohmann::json value_to_json(const std::filesystem::path& value) {
  return value.string();
}
template <typename T>
[[nodiscard]] nlohmann::json value_to_json(const std::optional<T>& value) {
  return value ? value_to_json(*value) : nlohmann::json(nullptr);
}

template <typename Spec>
[[nodiscard]] nlohmann::json object_to_json(Spec spec);

class ObjectWriter {
 public:
  template <typename Enum, std::size_t N>
  void kind(const Field& field, Enum& value, const std::array<Choice<Enum>, N>& choices) {
    choice(field, value, choices);
  }
  template <typename Enum, std::size_t N>
  void choice(const Field& field, Enum& value, const std::array<Choice<Enum>, N>& choices) {
    put(field, name_in(choices, value));
  }
  template <typename T>
  void value(const Field& field, T& value) {
    put(field, value_to_json(value));
  }
  template <typename T>
  void automatic(const Field& field, std::optional<T>& value) {
    put(field, value ? value_to_json(*value) : nlohmann::json("auto"));
  }
  template <typename Spec>
  void object(const Field& field, Spec& spec) {
    put(field, object_to_json(spec));
  }
  template <typename Spec>
  void object(const Field& field, std::optional<Spec>& spec) {
    put(field, spec ? object_to_json(*spec) : nlohmann::json(nullptr));
  }
  template <typename Spec>
  void objects(const Field& field, std::vector<Spec>& specs) {
    nlohmann::json list = nlohmann::json::array();
    for (Spec& spec : specs) list.push_back(object_to_json(spec));
    put(field, std::move(list));
  }
  void unbuilt(const Field& field) { put(field, nullptr); }
  template <typename Fill>
  void defaults(const Fill&) {}
  void others(const std::string& text) { object_.update(nlohmann::json::parse(text)); }

  [[nodiscard]] nlohmann::json take() { return std::move(object_); }

 private:
  void put(const Field& field, nlohmann::json value) {
    object_[std::string(field.key)] = std::move(value);
  }
  nlohmann::json object_ = nlohmann::json::object();
};

// By value: the table's visitors may write to what they visit.
template <typename Spec>
nlohmann::json object_to_json(Spec spec) {
  ObjectWriter writer;
  visit_fields(writer, spec);
  return writer.take();
}

}  // namespace lockstep::runtime
