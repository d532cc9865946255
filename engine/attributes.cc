#include "engine/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/error.h"

namespace lockstep::engine {
namespace {

template <class T>
const T& required(const Attribute* attribute, std::string_view name) {
  const T* value = attribute ? std::get_if<T>(attribute) : nullptr;
  if (!value) throw Error(fmt::format("attribute \"{}\" is missing or of another type", name));
  return *value;
}

}  // namespace

const Attribute* Attributes::find(std::string_view name) const {
  auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second;
}

std::int64_t Attributes::integer(std::string_view name) const {
  return required<std::int64_t>(find(name), name);
}
double Attributes::real(std::string_view name) const {
  return required<double>(find(name), name);
}
const std::string& Attributes::text(std::string_view name) const {
  return required<std::string>(find(name), name);
}

const Integers& Attributes::integers(std::string_view name) const {
  return required<Integers>(find(name), name);
}

std::int64_t Attributes::integer_or(std::string_view name, std::int64_t fallback) const {
  return find(name) ? integer(name) : fallback;
}

std::string Attributes::dump() const {
  std::string text;
  for (const auto& [name, value] : entries_) {
    if (!text.empty()) text += ' ';
    std::visit([&](const auto& v) { text += fmt::format("{}={}", name, v); }, value);
  }
  return text;
}

}  // namespace lockstep::engine
