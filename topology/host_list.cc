#include "topology/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMaxName = 255;

[[noreturn]] void too_many(std::size_t most) {
  throw HostListError(fmt::format("a list of more than {} hosts", most));
}

// "1-3", "07".
void expand_range(std::string_view range, std::size_t most, std::vector<std::string>& numbers) {
  const std::size_t dash = range.find('-');
  const std::string_view from = range.substr(0, dash);
  const std::string_view to = dash == std::string_view::npos ? from : range.substr(dash + 1);
  const auto first = parse_number<std::uint32_t>(from);
  const auto last = parse_number<std::uint32_t>(to);
  if (!first || !last || *first > *last || from.size() > kMaxName) {
    throw HostListError(fmt::format("expected a range of numbers such as 07-12, found \"{}\"",
                                    range.substr(0, 80)));
  }
  if (*last - *first >= most - std::min(most, numbers.size())) too_many(most);
  for (std::uint64_t number = *first; number <= *last; ++number)
    numbers.push_back(fmt::format("{:0{}}", number, from.size()));
}

std::vector<std::string> expand_brackets(std::string_view inside, std::size_t most) {
  std::vector<std::string> numbers;
  while (true) {
    const std::size_t comma = inside.find(',');
    expand_range(inside.substr(0, comma), most, numbers);
    if (comma == std::string_view::npos) return numbers;
    inside.remove_prefix(comma + 1);
  }
}

// Each of `names` with each of `endings` behind it.
std::vector<std::string> joined(const std::vector<std::string>& names,
                                const std::vector<std::string>& endings, std::size_t most) {
  if (names.size() > most / endings.size()) too_many(most);
  std::vector<std::string> all;
  all.reserve(names.size() * endings.size());
  for (const std::string& name : names) {
    for (const std::string& ending : endings) {
      if (name.size() + ending.size() > kMaxName)
        throw HostListError(fmt::format("a host's name of more than {} bytes", kMaxName));
      all.push_back(name + ending);
    }
  }
  return all;
}

// One element of the list: text and brackets in turn.
std::vector<std::string> expand_element(std::string_view element, std::size_t most) {
  std::vector<std::string> names{""};
  std::string_view rest = element;
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    if (open > 0) names = joined(names, {std::string(rest.substr(0, open))}, most);
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find(']', open);  // found: the element ends outside of brackets
    names = joined(names, expand_brackets(rest.substr(open + 1, close - open - 1), most), most);
    rest.remove_prefix(close + 1);
  }
  return names;
}

// Where the element that begins at `begin` ends: at a comma outside of brackets.
std::size_t end_of_element(std::string_view list, std::size_t begin) {
  bool inside = false;
  std::size_t at = begin;
  for (; at < list.size() && (inside || list[at] != ','); ++at) {
    if (list[at] != '[' && list[at] != ']') continue;
    if (inside == (list[at] == '[')) {
      throw HostListError(
          fmt::format("expected brackets in pairs, found \"{}\"", list.substr(begin, 80)));
    }
    inside = !inside;
  }
  if (inside)
    throw HostListError(fmt::format("expected ], found the end of \"{}\"", list.substr(begin, 80)));
  return at;
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list, std::size_t most) {
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = end_of_element(list, begin);
    const std::string_view element = list.substr(begin, end - begin);
    if (element.empty())
      throw HostListError(
          fmt::format("expected a host's name, found \"{}\"", list.substr(begin, 80)));
    for (std::string& host : expand_element(element, most)) {
      if (hosts.size() == most) too_many(most);
      hosts.push_back(std::move(host));
    }
    begin = end + 1;
  }
  return hosts;
}

}  // namespace lockstep::topology
