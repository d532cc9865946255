#include "topology/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMaxName = 255;
constexpr std::uint32_t kMaxRange = 65'536;  // MAX_RANGE of Slurm's hostlist.c
constexpr std::string_view kSeparators = ", \t\n";

[[noreturn]] void too_many(std::size_t most) {
  throw HostListError(fmt::format("a list of more than {} hosts", most));
}

// What may still be made, and the most of all, for the message.
struct Room {
  std::size_t left, most;
};

// "1-3", "07".
void expand_range(std::string_view range, Room room, std::vector<std::string>& numbers) {
  const std::size_t dash = range.find('-');
  const std::string_view from = range.substr(0, dash);
  const std::string_view to = dash == std::string_view::npos ? from : range.substr(dash + 1);
  const auto first = parse_number<std::uint32_t>(from);
  const auto last = parse_number<std::uint32_t>(to);
  if (!first || !last || *first > *last || from.size() > kMaxName) {
    throw HostListError(fmt::format("expected a range of numbers such as 07-12, found \"{}\"",
                                    range.substr(0, 80)));
  }
  if (*last - *first >= room.left - std::min(room.left, numbers.size())) too_many(room.most);
  if (*last - *first >= kMaxRange) {
    throw HostListError(fmt::format("expected a range of at most {} numbers, found \"{}\"",
                                    kMaxRange, range.substr(0, 80)));
  }
  for (std::uint64_t number = *first; number <= *last; ++number)
    numbers.push_back(fmt::format("{:0{}}", number, from.size()));
}

// An element of the list: text, brackets, text, ..., text.
struct Element {
  std::vector<std::string_view> texts;            // one more than groups
  std::vector<std::vector<std::string>> numbers;  // of each group, at least one
  std::size_t names = 1;                          // that it stands for
};

std::vector<std::string> expand_brackets(std::string_view inside, Room room) {
  std::vector<std::string> numbers;
  while (true) {
    const std::size_t comma = inside.find(',');
    expand_range(inside.substr(0, comma), room, numbers);
    if (comma == std::string_view::npos) return numbers;
    inside.remove_prefix(comma + 1);
  }
}

Element parse_element(std::string_view element, std::size_t most) {
  Element parsed;
  std::size_t longest = 0;  // bytes of the longest name
  while (true) {
    const std::size_t open = element.find('[');
    parsed.texts.push_back(element.substr(0, open));
    longest += parsed.texts.back().size();
    if (longest > kMaxName)
      throw HostListError(fmt::format("a host's name of more than {} bytes", kMaxName));
    if (open == std::string_view::npos) return parsed;
    const std::size_t close = element.find(']', open);  // found: elements end outside of brackets
    parsed.numbers.push_back(expand_brackets(element.substr(open + 1, close - open - 1),
                                             {.left = most / parsed.names, .most = most}));
    parsed.names *= parsed.numbers.back().size();
    longest += std::ranges::max(parsed.numbers.back(), {}, &std::string::size).size();
    element.remove_prefix(close + 1);
  }
}

// Goes to the next name in Slurm's order: the last group is the fastest, then the first, the
// second, and so on, the one before the last being the slowest.
void advance(const Element& element, std::vector<std::size_t>& at) {
  const std::size_t groups = element.numbers.size();
  for (std::size_t i = 0; i < groups; ++i) {
    const std::size_t group = i == 0 ? groups - 1 : i - 1;
    if (++at[group] < element.numbers[group].size()) return;
    at[group] = 0;
  }
}

void expand_element(const Element& element, std::vector<std::string>& hosts) {
  std::vector<std::size_t> at(element.numbers.size());
  for (std::size_t i = 0; i < element.names; ++i) {
    std::string name(element.texts.front());
    for (std::size_t group = 0; group < at.size(); ++group) {
      name += element.numbers[group][at[group]];
      name += element.texts[group + 1];
    }
    hosts.push_back(std::move(name));
    advance(element, at);
  }
}

// Where the element that begins at `begin` ends: at a separator outside of brackets.
std::size_t end_of_element(std::string_view list, std::size_t begin) {
  bool inside = false;
  std::size_t at = begin;
  for (; at < list.size() && (inside || kSeparators.find(list[at]) == std::string_view::npos);
       ++at) {
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

std::size_t skip_blanks(std::string_view list, std::size_t at) {
  return std::min(list.find_first_not_of(kSeparators.substr(1), at), list.size());
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list, std::size_t most) {
  std::vector<std::string> hosts;
  for (std::size_t begin = skip_blanks(list, 0); begin < list.size();) {
    const std::size_t end = end_of_element(list, begin);
    if (end == begin)
      throw HostListError(
          fmt::format("expected a host's name, found \"{}\"", list.substr(begin, 80)));
    const Element element = parse_element(list.substr(begin, end - begin), most);
    if (element.names > most - hosts.size()) too_many(most);
    expand_element(element, hosts);
    begin = skip_blanks(list, end);
    if (begin == list.size() || list[begin] != ',') continue;
    begin = skip_blanks(list, begin + 1);
    if (begin == list.size()) throw HostListError("expected a host's name, found a last comma");
  }
  return hosts;
}

}  // namespace lockstep::topology
