#include "runtime/job_reader.h"

#include <algorithm>
#include <cstdint>

namespace lockstep::runtime {
namespace {

using nlohmann::json;

// Integers beyond this are not exact in a JSON number written with a point or an exponent.
constexpr double kExactInteger = 9007199254740992.0;  // 2^53

// "1", "0.5", "1e+12"
std::string number_text(double value) {
  return std::abs(value) < kExactInteger && value == std::floor(value)
             ? fmt::format("{}", static_cast<std::int64_t>(value))
             : fmt::format("{}", value);
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

std::string quoted_nearest(std::string_view word, const std::vector<std::string_view>& names) {
  const auto name = nearest(word, names);
  return name ? fmt::format("; did you mean \"{}\"?", *name) : std::string();
}

bool is_whole(const json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::abs(number) <= kExactInteger && number == std::floor(number);
}

}  // namespace

std::string range_text(std::string_view kind, const Range& range) {
  const bool below_all = std::isinf(range.least);
  const bool above_all = std::isinf(range.most) || range.most == std::numeric_limits<double>::max();
  if (below_all) return std::string(kind);
  if (range.least_end == Range::End::excluded) {
    return fmt::format("{} above {}", kind, number_text(range.least));
  }
  if (above_all) return fmt::format("{} of at least {}", kind, number_text(range.least));
  return fmt::format("{} from {} {} {}", kind, number_text(range.least),
                     range.most_end == Range::End::included ? "to" : "to below",
                     number_text(range.most));
}

void read_value(const JobPlace& place, const json& value, const Range&, bool& out) {
  if (!value.is_boolean()) place.expected("true or false", value);
  out = value.get<bool>();
}

void read_value(const JobPlace& place, const json& value, const Range& range, std::int64_t& out) {
  if (!is_whole(value) || !range.has(value.get<double>())) {
    place.expected(range_text("an integer", range), value);
  }
  out = value.get<std::int64_t>();
}

void read_value(const JobPlace& place, const json& value, const Range&, std::uint64_t& out) {
  if (!value.is_number_unsigned()) place.expected("an integer from 0 to 2^64-1", value);
  out = value.get<std::uint64_t>();
}

void read_value(const JobPlace& place, const json& value, const Range& range, double& out) {
  if (!value.is_number() || !range.has(value.get<double>())) {
    place.expected(range_text("a number", range), value);
  }
  out = value.get<double>();
}

void read_value(const JobPlace& place, const json& value, const Range&, std::string& out) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    place.expected("a text in quotes", value);
  }
  out = value.get<std::string>();
}

void read_value(const JobPlace& place, const json& value, const Range& range,
                std::filesystem::path& out) {
  std::string text;
  read_value(place, value, range, text);
  if (text.find('\0') != std::string::npos) place.expected("a path", value);
  const auto folder = std::filesystem::path(place.origin).parent_path();
  out = std::filesystem::absolute(folder / text).lexically_normal();
}

const json* ObjectReader::find(const Field& field) {
  known_.push_back(field.key);
  const auto found = value_.find(field.key);
  if (found != value_.end()) return &*found;
  if (field.presence == Presence::required) missing_.push_back(field.key);
  return nullptr;
}

bool ObjectReader::knows(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

void ObjectReader::unbuilt(const Field& field) {
  const json* found = find(field);
  if (!found || found->is_null()) return;
  place_.at(field.key).fail("is not built yet; in this version it must be null or left out");
}

void ObjectReader::others(std::string& out) {
  json keys = json::object();
  for (const auto& [key, value] : value_.items()) {
    if (!knows(key)) keys[key] = value;
  }
  out = keys.dump();
  has_others_ = true;
}

void ObjectReader::refuse_choice(const JobPlace& place, const json& found,
                                 const std::vector<std::string_view>& names,
                                 const std::vector<std::string_view>& built) {
  if (!found.is_string()) place.expected(fmt::format("one of {}", joined(names)), found);
  const auto& name = found.get_ref<const std::string&>();
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    place.fail(fmt::format("\"{}\" is not built yet; this version has {}", name, joined(built)));
  }
  place.fail(fmt::format("expected one of {}, found {}{}", joined(names), describe(found),
                         quoted_nearest(name, names)));
}

void ObjectReader::refuse_unknown(std::string_view key) const {
  const std::string of_kind = kind_.empty() ? "" : fmt::format(" of {}", kind_);
  const std::string shown = describe(json(std::string(key)));
  const JobPlace place = place_.at(std::string_view(shown).substr(1, shown.size() - 2));
  if (const auto name = nearest(key, known_)) {
    place.fail(fmt::format("unknown key{}; did you mean {}?", of_kind, place_.at(*name).path));
  }
  place.fail(fmt::format("unknown key{}; the keys here are {}", of_kind, joined(known_)));
}

void ObjectReader::finish() const {
  // A mistyped required key is both unknown and missing: what stands there is the better message.
  for (const auto& [key, value] : value_.items()) {
    const auto name = nearest(key, missing_);
    if (name && !knows(key)) refuse_unknown(key);
  }
  if (!missing_.empty()) place_.at(missing_.front()).fail("expected this key, found none");
  if (has_others_) return;
  for (const auto& [key, value] : value_.items()) {
    if (!knows(key)) refuse_unknown(key);
  }
}

}  // namespace lockstep::runtime
