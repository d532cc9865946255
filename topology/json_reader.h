// Reads the fields of values from JSON objects, and says where one is not as expected.
//
// A key that is missing or null leaves its field as it is. Thread rule: one thread. The side that
// topology/json_fields.h maps fields with.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "topology/json_fields.h"
#include "topology/json_names.h"

namespace lockstep::topology {

// Not nlohmann::ordered_json: that one searches all keys of an object for each that it adds.
using ParsedJson = nlohmann::json;

// "hosts[3].gpus[0].numa: expected a whole number, found "x"".
class JsonFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where in a document a value stands; the places above it outlive it.
struct JsonPlace {
  const JsonPlace* above = nullptr;
  std::string_view key;   // of an object's member
  std::size_t index = 0;  // of a list's element, where `key` is empty

  [[nodiscard]] std::string text() const;
};

class JsonReader {
 public:
  static constexpr std::size_t kMaxList = 1 << 16;

  // REQUIRES: both outlive the reader. Errors: JsonFault where `object` is none.
  JsonReader(const ParsedJson& object, const JsonPlace& place);

  template <typename Value>
  void operator()(std::string_view key, Value& value) const {
    const auto member = object_.find(std::string(key));
    if (member == object_.end() || member->is_null()) return;
    read(*member, {.above = &place_, .key = key, .index = 0}, value);
  }

  void hex(std::string_view key, std::optional<std::uint32_t>& value) const;

  // Throws a JsonFault: what was expected at `place`, and what is there.
  [[noreturn]] static void refuse(const ParsedJson& json, const JsonPlace& place,
                                  std::string_view expected);

 private:
  using Json = ParsedJson;

  static void read(const Json& json, const JsonPlace& place, std::string& text);
  static void read(const Json& json, const JsonPlace& place, bool& value);
  static void read(const Json& json, const JsonPlace& place, char& letter);
  static void read(const Json& json, const JsonPlace& place, int& number);  // from -1
  static void read(const Json& json, const JsonPlace& place, std::uint64_t& number);
  static void read(const Json& json, const JsonPlace& place, double& number);  // from 0
  static void read(const Json& json, const JsonPlace& place, PciAddress& address);
  static void read(const Json& json, const JsonPlace& place, CpuSet& cpus);
  static void read(const Json& json, const JsonPlace& place, DeviceId& id);

  template <typename Value>
  static void read(const Json& json, const JsonPlace& place, std::optional<Value>& value) {
    read(json, place, value.emplace());
  }

  template <typename Value>
  static void read(const Json& json, const JsonPlace& place, std::vector<Value>& values) {
    if (!json.is_array()) refuse(json, place, "a list");
    if (json.size() > kMaxList) {
      throw JsonFault(fmt::format("{}: expected a list of at most {} elements, found {}",
                                  place.text(), kMaxList, json.size()));
    }
    values.clear();
    values.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i)
      read(json[i], {.above = &place, .key = {}, .index = i}, values.emplace_back());
  }

  template <typename Value>
  static void read(const Json& json, const JsonPlace& place, Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      const auto named =
          json.is_string() ? value_named<Value>(json.get_ref<const std::string&>()) : std::nullopt;
      if (!named) refuse(json, place, fmt::format("one of {}", names_of<Value>()));
      value = *named;
    } else {
      JsonReader reader(json, place);
      map_fields(reader, value);
    }
  }

  const Json& object_;
  const JsonPlace& place_;
};

}  // namespace lockstep::topology
