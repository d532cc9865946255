// The visitor that writes the table as a JSON Schema.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/job.h"
#include "runtime/job_fields.h"
#include "runtime/job_writer.h"

namespace lockstep::runtime {
namespace {

using nlohmann::json;

template <typename Spec>
json spec_schema();

void add_range(json& schema, const Range& range) {
  if (!std::isinf(range.least)) {
    const bool included = range.least_end == Range::End::included;
    schema[included ? "minimum" : "exclusiveMinimum"] = range.least;
  }
  if (!std::isinf(range.most) && range.most != std::numeric_limits<double>::max()) {
    const bool included = range.most_end == Range::End::included;
    schema[included ? "maximum" : "exclusiveMaximum"] = range.most;
  }
}

// The type's own schema; the argument only selects it.
json type_schema(const bool&, const Range&) {
  return {{"type", "boolean"}};
}
json type_schema(const std::string&, const Range&) {
  return {{"type", "string"}, {"minLength", 1}};
}
json type_schema(const std::filesystem::path&, const Range&) {
  return {{"type", "string"}, {"minLength", 1}};
}
json type_schema(const std::uint64_t&, const Range&) {
  return {{"type", "integer"}, {"minimum", 0}};
}
json type_schema(const std::int64_t&, const Range& range) {
  json schema{{"type", "integer"}};
  add_range(schema, range);
  return schema;
}
json type_schema(const double&, const Range& range) {
  json schema{{"type", "number"}};
  add_range(schema, range);
  return schema;
}
template <typename T>
json type_schema(const std::vector<T>&, const Range& range) {
  return {{"type", "array"}, {"items", type_schema(T{}, range)}};
}
template <typename T, std::size_t N>
json type_schema(const std::array<T, N>&, const Range& range) {
  return {{"type", "array"}, {"items", type_schema(T{}, range)}, {"minItems", N}, {"maxItems", N}};
}
template <typename T>
json type_schema(const std::optional<T>&, const Range& range) {
  json schema = type_schema(T{}, range);
  schema["type"] = {schema["type"], "null"};
  return schema;
}

class SchemaWriter {
 public:
  template <typename Enum, std::size_t N>
  void kind(Field field, Enum& value, const std::array<Choice<Enum>, N>& choices) {
    field.presence = Presence::required;
    put(field, {{"const", name_in(choices, value)}});
  }
  template <typename Enum, std::size_t N>
  void choice(const Field& field, Enum& value, const std::array<Choice<Enum>, N>& choices) {
    json names = json::array();
    for (const Choice<Enum>& choice : choices) {
      if (choice.value) names.push_back(choice.name);
    }
    put_with_default(field, {{"enum", names}}, name_in(choices, value));
  }
  template <typename T>
  void value(const Field& field, T& value) {
    put_with_default(field, type_schema(value, field.range), value_to_json(value));
  }
  template <typename T>
  void automatic(const Field& field, std::optional<T>&) {
    put_with_default(field, {{"anyOf", {{{"const", "auto"}}, type_schema(T{}, field.range)}}},
                     "auto");
  }
  template <typename Spec>
  void object(const Field& field, Spec&) {
    put(field, spec_schema<Spec>());
  }
  template <typename Spec>
  void object(const Field& field, std::optional<Spec>&) {
    put(field, {{"anyOf", {spec_schema<Spec>(), {{"type", "null"}}}}});
  }
  template <typename Spec>
  void objects(const Field& field, std::vector<Spec>&) {
    put(field, {{"type", "array"}, {"items", spec_schema<Spec>()}});
  }
  void unbuilt(const Field& field) { put(field, {{"type", "null"}}); }
  template <typename Fill>
  void defaults(const Fill&) {}
  void others(const std::string&) { has_others_ = true; }

  json take() {
    json schema{
        {"type", "object"}, {"additionalProperties", has_others_}, {"properties", properties_}};
    if (!required_.empty()) schema["required"] = required_;
    return schema;
  }

 private:
  void put(const Field& field, json schema) {
    schema["description"] = field.about;
    properties_[std::string(field.key)] = std::move(schema);
    if (field.presence == Presence::required) required_.push_back(field.key);
  }
  void put_with_default(const Field& field, json schema, json value) {
    const bool unset = field.presence == Presence::required || value == "";
    if (!unset) schema["default"] = std::move(value);
    put(field, std::move(schema));
  }

  json properties_ = json::object();
  json required_ = json::array();
  bool has_others_ = false;
};

template <typename Spec>
json spec_schema() {
  json kinds = json::array();
  for (Spec& spec : variants<Spec>()) {
    SchemaWriter writer;
    visit_fields(writer, spec);
    kinds.push_back(writer.take());
  }
  if (kinds.size() == 1) return kinds.front();
  return {{"oneOf", kinds}};
}

}  // namespace

json job_schema() {
  json schema = spec_schema<Job>();
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Lockstep job";
  return schema;
}

}  // namespace lockstep::runtime
