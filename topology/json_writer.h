// Writes the fields of values into JSON objects.
//
// Thread rule: one thread. The side that topology/json_fields.h maps fields with.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "topology/json_fields.h"
#include "topology/json_names.h"

namespace lockstep::topology {

// Keys stay in the order in which they are written.
using OrderedJson = nlohmann::ordered_json;

class JsonWriter {
 public:
  template <typename Value>
  void operator()(std::string_view key, const Value& value) {
    object_[std::string(key)] = json_of(value);
  }

  void hex(std::string_view key, const std::optional<std::uint32_t>& value);

  [[nodiscard]] OrderedJson take() { return std::move(object_); }

  // The fields of `value` as an object.
  template <typename Value>
  [[nodiscard]] static OrderedJson object_of(const Value& value) {
    JsonWriter writer;
    map_fields(writer, value);
    return writer.take();
  }

 private:
  static OrderedJson json_of(const std::string& text) { return text; }
  static OrderedJson json_of(char letter) { return std::string(1, letter); }
  static OrderedJson json_of(double number) {
    return std::isfinite(number) ? OrderedJson(number) : OrderedJson(nullptr);
  }
  static OrderedJson json_of(PciAddress address) { return to_string(address); }
  static OrderedJson json_of(const CpuSet& cpus) { return cpus.to_list(); }
  static OrderedJson json_of(DeviceId id) { return to_string(id); }

  template <typename Value>
  static OrderedJson json_of(const std::optional<Value>& value) {
    return value ? json_of(*value) : OrderedJson(nullptr);
  }

  template <typename Value>
  static OrderedJson json_of(const std::vector<Value>& values) {
    OrderedJson list = OrderedJson::array();
    for (const Value& value : values) list.push_back(json_of(value));
    return list;
  }

  template <typename Value>
  static OrderedJson json_of(const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      return std::string(name_of(value));
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return value;
    } else {
      return object_of(value);
    }
  }

  OrderedJson object_ = OrderedJson::object();
};

}  // namespace lockstep::topology
