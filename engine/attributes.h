// The constants of a node: strides, epsilons, flags. Ordered by name, so that dumps and hashes are
// stable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/device/visibility.h"

namespace lockstep::engine {

using Integers = std::vector<std::int64_t>;
using Attribute = std::variant<std::int64_t, double, std::string, Integers>;

class LOCKSTEP_API Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> entries)
      : entries_(entries) {}

  void set(std::string name, Attribute value) { entries_[std::move(name)] = std::move(value); }
  void remove(const std::string& name) { entries_.erase(name); }

  // The value, which must be there and of that type; else an Error that names it.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] const Integers& integers(std::string_view name) const;

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }

  // The value, or `fallback` where it is not set.
  [[nodiscard]] std::int64_t integer_or(std::string_view name, std::int64_t fallback) const;

  // "pad=2 stride=1"; empty without entries.
  [[nodiscard]] std::string dump() const;

  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  [[nodiscard]] const Attribute* find(std::string_view name) const;
  std::map<std::string, Attribute, std::less<>> entries_;
};

}  // namespace lockstep::engine
