// The visitor that fills a spec from a JSON object: values, ranges, unknown and missing keys.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/job.h"
#include "runtime/job_fields.h"
#include "runtime/job_text.h"
#include "runtime/nearest.h"

namespace lockstep::runtime {

// Where a value stands, for messages and for relative paths.
struct JobPlace {
  std::string origin;  // the file
  std::string path;    // "data.train"; empty: the whole file

  [[nodiscard]] JobPlace at(std::string_view key) const {
    return {origin, path.empty() ? std::string(key) : fmt::format("{}.{}", path, key)};
  }
  [[nodiscard]] JobPlace at(std::size_t index) const {
    return {origin, fmt::format("{}[{}]", path, index)};
  }
  // Throws JobError: "job.json: data.batch: expected ..., found ...".
  [[noreturn]] void fail(std::string_view message) const {
    throw JobError(fmt::format("{}: {}{}{}", origin, path, path.empty() ? "" : ": ", message));
  }
  [[noreturn]] void expected(std::string_view what, const nlohmann::json& found) const {
    fail(fmt::format("expected {}, found {}", what, describe(found)));
  }
};

// "an integer from 1 to 1000000"
[[nodiscard]] std::string range_text(std::string_view kind, const Range& range);

void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range, bool& out);
void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range,
                std::int64_t& out);
void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range,
                std::uint64_t& out);
void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range,
                double& out);
void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range,
                std::string& out);
// A relative path is taken from the job file's folder.
void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range,
                std::filesystem::path& out);

template <typename T>
void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range,
                std::vector<T>& out) {
  if (!value.is_array()) place.expected("a list", value);
  out.clear();
  for (std::size_t i = 0; i < value.size(); ++i) {
    read_value(place.at(i), value[i], range, out.emplace_back());
  }
}

template <typename T, std::size_t N>
void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range,
                std::array<T, N>& out) {
  if (!value.is_array() || value.size() != N) place.expected(fmt::format("a list of {}", N), value);
  for (std::size_t i = 0; i < N; ++i) read_value(place.at(i), value[i], range, out[i]);
}

template <typename T>
void read_value(const JobPlace& place, const nlohmann::json& value, const Range& range,
                std::optional<T>& out) {
  if (value.is_null()) {
    out.reset();
  } else {
    read_value(place, value, range, out.emplace());
  }
}

template <typename Spec>
void read_object(const JobPlace& place, const nlohmann::json& value, Spec& spec);

class ObjectReader {
 public:
  // REQUIRES: value is an object that outlives the reader.
  ObjectReader(const JobPlace& place, const nlohmann::json& value) : place_(place), value_(value) {}

  template <typename Enum, std::size_t N>
  void kind(Field field, Enum& out, const std::array<Choice<Enum>, N>& choices) {
    field.presence = Presence::required;
    choice(field, out, choices);
    if (value_.contains(field.key)) kind_ = name_in(choices, out);
  }

  template <typename Enum, std::size_t N>
  void choice(const Field& field, Enum& out, const std::array<Choice<Enum>, N>& choices) {
    const nlohmann::json* found = find(field);
    if (!found) return;
    std::vector<std::string_view> names;
    std::vector<std::string_view> built;
    for (const Choice<Enum>& choice : choices) {
      if (*found == choice.name && choice.value) {
        out = *choice.value;
        return;
      }
      names.push_back(choice.name);
      if (choice.value) built.push_back(choice.name);
    }
    refuse_choice(place_.at(field.key), *found, names, built);
  }

  template <typename T>
  void value(const Field& field, T& out) {
    if (const nlohmann::json* found = find(field)) {
      read_value(place_.at(field.key), *found, field.range, out);
    }
  }

  template <typename T>
  void automatic(const Field& field, std::optional<T>& out) {
    const nlohmann::json* found = find(field);
    if (!found) return;
    if (*found == "auto") {
      out.reset();
    } else if (found->is_string() || found->is_null()) {
      refuse_automatic<T>(field, *found);
    } else {
      read_value(place_.at(field.key), *found, field.range, out.emplace());
    }
  }

  template <typename Spec>
  void object(const Field& field, Spec& out) {
    if (const nlohmann::json* found = find(field)) read_object(place_.at(field.key), *found, out);
  }

  template <typename Spec>
  void object(const Field& field, std::optional<Spec>& out) {
    const nlohmann::json* found = find(field);
    if (!found) return;
    if (found->is_null()) {
      out.reset();
    } else {
      read_object(place_.at(field.key), *found, out.emplace());
    }
  }

  template <typename Spec>
  void objects(const Field& field, std::vector<Spec>& out) {
    const nlohmann::json* found = find(field);
    if (!found) return;
    const JobPlace list = place_.at(field.key);
    if (!found->is_array()) list.expected("a list", *found);
    out.clear();
    for (std::size_t i = 0; i < found->size(); ++i) {
      read_object(list.at(i), (*found)[i], out.emplace_back());
    }
  }

  void unbuilt(const Field& field);
  void others(std::string& out);

  template <typename Fill>
  void defaults(const Fill& fill) {
    fill();
  }

  // Throws JobError where the object lacks a required key, or has one that no field asked for and
  // others() did not take.
  void finish() const;

 private:
  const nlohmann::json* find(const Field& field);
  [[nodiscard]] bool knows(std::string_view key) const;
  [[noreturn]] static void refuse_choice(const JobPlace& place, const nlohmann::json& found,
                                         const std::vector<std::string_view>& names,
                                         const std::vector<std::string_view>& built);
  template <typename T>
  [[noreturn]] void refuse_automatic(const Field& field, const nlohmann::json& found) const {
    const std::string_view type = std::same_as<T, bool> ? "true or false" : "a number";
    place_.at(field.key).expected(fmt::format("\"auto\" or {}", range_text(type, field.range)),
                                  found);
  }
  [[noreturn]] void refuse_unknown(std::string_view key) const;

  const JobPlace& place_;
  const nlohmann::json& value_;
  std::string_view kind_;  // the object's kind; empty: it has none
  std::vector<std::string_view> known_;
  std::vector<std::string_view> missing_;
  bool has_others_ = false;
};

template <typename Spec>
void read_object(const JobPlace& place, const nlohmann::json& value, Spec& spec) {
  if (!value.is_object()) place.expected("an object", value);
  ObjectReader reader(place, value);
  visit_fields(reader, spec);
  reader.finish();
}

}  // namespace lockstep::runtime
