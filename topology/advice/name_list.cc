#include "topology/advice/name_list.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace lockstep::topology {
namespace {

NameList::Entry parse_entry(std::string_view text) {
  const auto colon = text.find(':');
  NameList::Entry entry{std::string(text.substr(0, colon)), std::nullopt};
  if (colon == std::string_view::npos) return entry;
  int port = 0;
  const auto digits = text.substr(colon + 1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), port).ec == std::errc()) {
    entry.port = port;
  }
  return entry;
}

}  // namespace

NameList parse_name_list(std::string_view text) {
  NameList list;
  if (text.starts_with('^')) {
    list.exclude = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    list.exact = true;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma != 0) list.entries.push_back(parse_entry(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return list;
}

bool names(const NameList& list, std::string_view name, std::optional<int> port) {
  return std::any_of(list.entries.begin(), list.entries.end(), [&](const NameList::Entry& entry) {
    const bool same = list.exact ? name == entry.name : name.starts_with(entry.name);
    return same && (!entry.port || !port || *entry.port == *port);
  });
}

bool admits(const NameList& list, std::string_view name, std::optional<int> port) {
  return list.entries.empty() || names(list, name, port) != list.exclude;
}

}  // namespace lockstep::topology
