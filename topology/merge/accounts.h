// What several recordings say of one thing, field by field.
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/devices.h"
#include "topology/finding.h"
#include "topology/merge/groups.h"

namespace lockstep::topology::merging {

// A field's value as one that may not be stated: empty text, empty lists and `unknown` are not.
template <typename T>
std::optional<T> stated(const std::optional<T>& value) {
  return value;
}
template <typename T>
std::optional<std::vector<T>> stated(const std::vector<T>& value) {
  return value.empty() ? std::nullopt : std::optional(value);
}
std::optional<std::string> stated(const std::string& value);
std::optional<CpuSet> stated(const CpuSet& value);
std::optional<NicKind> stated(NicKind value);
std::optional<NicState> stated(NicState value);

// Values as a finding shows them.
std::string shown(int value);
std::string shown(bool value);
std::string shown(double value);
std::string shown(const std::string& value);
std::string shown(const CpuSet& value);
std::string shown(const PciAddress& value);
std::string shown(NicKind value);
std::string shown(NicState value);

template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}
// Tools round rates: within two parts of a hundred.
bool same(double a, double b);

[[nodiscard]] Finding disagreement(std::string_view what, std::string_view where, std::string first,
                                   std::string second);

template <typename Thing>
class Accounts {
 public:
  struct Account {
    const Thing* thing;
    std::string_view source;
  };

  // `where` names the thing in findings. What is added must outlive this.
  Accounts(std::string where, std::vector<Finding>& findings)
      : where_(std::move(where)), findings_(findings) {}

  void add(const Thing& thing, std::string_view source) { accounts_.push_back({&thing, source}); }
  [[nodiscard]] const std::vector<Account>& all() const { return accounts_; }
  // What the merged thing begins as. REQUIRES: one account.
  [[nodiscard]] const Thing& first() const { return *accounts_.front().thing; }

  // Sets that field of `into` to the first value stated. `field` gives a reference to the field.
  template <typename Field>
  void fill(Thing& into, Field field) const {
    for (const Account& account : accounts_) {
      const auto value = stated(std::invoke(field, *account.thing));
      if (!value) continue;
      std::invoke(field, into) = *value;
      return;
    }
  }

  // Likewise; the first other value that differs is a finding.
  template <typename Field>
  void agree(Thing& into, std::string_view what, Field field) const {
    fill(into, field);
    const auto kept = stated(std::invoke(field, std::as_const(into)));
    if (!kept) return;
    std::string_view source;
    for (const Account& account : accounts_) {
      const auto value = stated(std::invoke(field, *account.thing));
      if (!value) continue;
      if (source.empty()) source = account.source;
      if (same(*value, *kept)) continue;
      note(what, {shown(*kept), source}, {shown(*value), account.source});
      return;
    }
  }

  // What they say of a part of it.
  template <typename Part>
  [[nodiscard]] Accounts<Part> of(Part Thing::*part) const {
    Accounts<Part> parts(where_, findings_);
    for (const Account& account : accounts_) parts.add(account.thing->*part, account.source);
    return parts;
  }

  struct Claim {
    std::string value;
    std::string_view source;
  };
  void note(std::string_view what, const Claim& first, const Claim& second) const {
    findings_.push_back(disagreement(what, where_, first.value + " by " + std::string(first.source),
                                     second.value + " by " + std::string(second.source)));
  }

 private:
  std::string where_;
  std::vector<Finding>& findings_;
  std::vector<Account> accounts_;
};

// What the recordings that know a device say of it.
template <typename Device>
Accounts<Device> accounts_of(const Recordings& recordings, std::span<const Member> group,
                             std::vector<Device> Machine::*list, std::string where,
                             std::vector<Finding>& findings) {
  Accounts<Device> accounts(std::move(where), findings);
  for (const Member member : group)
    accounts.add((recordings.parts[member.part].*list)[member.index],
                 recordings.sources[member.part]);
  return accounts;
}

}  // namespace lockstep::topology::merging
