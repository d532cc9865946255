#include "topology/json_reader.h"

#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

const std::string* text_of(const ParsedJson& json) {
  return json.is_string() ? &json.get_ref<const std::string&>() : nullptr;
}

}  // namespace

std::string JsonPlace::text() const {
  std::string all = above == nullptr ? std::string() : above->text();
  if (key.empty()) return above == nullptr ? "the document" : fmt::format("{}[{}]", all, index);
  const bool outermost = above == nullptr || (above->above == nullptr && above->key.empty());
  return outermost ? std::string(key) : fmt::format("{}.{}", all, key);
}

JsonReader::JsonReader(const ParsedJson& object, const JsonPlace& place)
    : object_(object), place_(place) {
  if (!object.is_object()) refuse(object, place, "an object");
}

void JsonReader::hex(std::string_view key, std::optional<std::uint32_t>& value) const {
  std::string text;
  (*this)(key, text);
  if (text.empty()) return;
  const auto digits = after(text, "0x");
  const auto number = digits ? parse_number<std::uint32_t>(*digits, 16) : std::nullopt;
  const JsonPlace place{.above = &place_, .key = key, .index = 0};
  if (!number) refuse(text, place, "a hexadecimal number such as 0x10de");
  value = *number;
}

void JsonReader::refuse(const ParsedJson& json, const JsonPlace& place, std::string_view expected) {
  constexpr std::size_t kShown = 60;
  const std::string found = json.is_structured()
                                ? fmt::format("a {}", json.is_array() ? "list" : "group of keys")
                                : json.dump(-1, ' ', false, ParsedJson::error_handler_t::replace);
  throw JsonFault(fmt::format("{}: expected {}, found {}", place.text(), expected,
                              found.size() > kShown ? found.substr(0, kShown) + "..." : found));
}

void JsonReader::read(const Json& json, const JsonPlace& place, std::string& text) {
  const std::string* found = text_of(json);
  if (found == nullptr) refuse(json, place, "text");
  text = *found;
}

void JsonReader::read(const Json& json, const JsonPlace& place, bool& value) {
  if (!json.is_boolean()) refuse(json, place, "true or false");
  value = json.get<bool>();
}

void JsonReader::read(const Json& json, const JsonPlace& place, char& letter) {
  const std::string* found = text_of(json);
  if (found == nullptr || found->size() != 1) refuse(json, place, "one letter");
  letter = found->front();
}

void JsonReader::read(const Json& json, const JsonPlace& place, int& number) {
  constexpr int kMax = std::numeric_limits<int>::max();
  // A number without a sign is never below 0, and may be beyond what a signed one holds.
  const bool fits = json.is_number_unsigned()  ? json.get<std::uint64_t>() <= std::uint64_t{kMax}
                    : json.is_number_integer() ? json.get<std::int64_t>() == -1
                                               : false;
  if (!fits) refuse(json, place, fmt::format("a whole number from -1 to {}", kMax));
  number = json.get<int>();
}

void JsonReader::read(const Json& json, const JsonPlace& place, std::uint64_t& number) {
  if (!json.is_number_unsigned()) refuse(json, place, "a whole number from 0");
  number = json.get<std::uint64_t>();
}

void JsonReader::read(const Json& json, const JsonPlace& place, double& number) {
  if (!json.is_number()) refuse(json, place, "a number");
  number = json.get<double>();
  if (!std::isfinite(number) || number < 0) refuse(json, place, "a finite number from 0");
}

void JsonReader::read(const Json& json, const JsonPlace& place, PciAddress& address) {
  const std::string* found = text_of(json);
  const auto parsed = found == nullptr ? std::nullopt : parse_pci_address(*found);
  if (!parsed) refuse(json, place, "a PCI address such as 0000:0f:00.0");
  address = *parsed;
}

void JsonReader::read(const Json& json, const JsonPlace& place, CpuSet& cpus) {
  const std::string* found = text_of(json);
  const auto parsed = found == nullptr ? std::nullopt : CpuSet::from_list(*found);
  if (!parsed) refuse(json, place, "a list of CPUs such as 0-31,64-95");
  cpus = *parsed;
}

void JsonReader::read(const Json& json, const JsonPlace& place, DeviceId& id) {
  const std::string* found = text_of(json);
  const auto parsed = found == nullptr ? std::nullopt : parse_device_id(*found);
  if (!parsed) refuse(json, place, "a device such as GPU0, NIC3, SW1, NVS0 or NUMA1");
  id = *parsed;
}

}  // namespace lockstep::topology
