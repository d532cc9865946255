#include "topology/tuner/table.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace lockstep::topology::tuner {
namespace {

constexpr std::size_t kRequired = 8, kMost = 10;

constexpr std::array<std::string_view, 5> kCollectives{"broadcast", "reduce", "allgather",
                                                       "reducescatter", "allreduce"};
constexpr std::array<std::string_view, 7> kAlgorithms{
    "tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"};
constexpr std::array<std::string_view, 3> kProtocols{"ll", "ll128", "simple"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// In lower case, without underscores.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_') text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

// Fields of one line, and the first thing that is wrong with them.
class Line {
 public:
  explicit Line(std::string_view text) {
    while (true) {
      const std::size_t comma = text.find(',');
      fields_.push_back(trimmed(text.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
  }

  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] std::string_view field(std::size_t at) const { return fields_[at]; }
  [[nodiscard]] const std::string& error() const { return error_; }

  // `fields_[at]` as one of `names`.
  template <typename Value>
  Value one_of(std::size_t at, std::span<const std::string_view> names) {
    const std::string name = plain(fields_[at]);
    std::string known;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<Value>(i);
      known += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    fail(at, "one of " + known);
    return {};
  }

  // `fields_[at]` as kAny or a number from `least` to `most`; kAny where the line ends before.
  std::int64_t number(std::size_t at, std::int64_t least, std::int64_t most) {
    if (at >= fields_.size()) return kAny;
    const std::string_view text = fields_[at];
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = problem == std::errc() && end == text.data() + text.size();
    if (read && (value == kAny || (value >= least && value <= most))) return value;
    fail(at, "-1 or a number from " + std::to_string(least) + " to " + std::to_string(most));
    return kAny;
  }

  void fail(std::size_t at, const std::string& expected) {
    constexpr std::array<std::string_view, kMost> kNames{
        "collective", "min",   "max",   "algorithm",       "protocol",
        "channels",   "nodes", "ranks", "pipe operations", "registered"};
    if (!error_.empty()) return;
    error_ = std::string(kNames[at]) + " is \"" + std::string(fields_[at].substr(0, 40)) +
             "\", expected " + expected;
  }

 private:
  std::vector<std::string_view> fields_;
  std::string error_;
};

std::optional<Row> row_of(Line& line) {
  constexpr std::int64_t kMostBytes = INT64_MAX;
  constexpr std::int64_t kMostRanks = INT32_MAX;
  Row row;
  row.collective = line.one_of<Collective>(0, kCollectives);
  const std::int64_t min = line.number(1, 0, kMostBytes);
  const std::int64_t max = line.number(2, 0, kMostBytes);
  if (min != kAny && max != kAny && min > max)
    line.fail(2, "at least min, which is " + std::to_string(min));
  if (min != kAny) row.min_bytes = static_cast<std::uint64_t>(min);
  if (max != kAny) row.max_bytes = static_cast<std::uint64_t>(max);
  row.algorithm = line.one_of<Algorithm>(3, kAlgorithms);
  row.protocol = line.one_of<Protocol>(4, kProtocols);
  row.channels = static_cast<int>(line.number(5, 1, kMostChannels));
  row.nodes = static_cast<int>(line.number(6, 1, kMostRanks));
  row.ranks = static_cast<int>(line.number(7, 1, kMostRanks));
  row.pipe_ops = static_cast<int>(line.number(8, 0, kMostRanks));
  row.registered = static_cast<int>(line.number(9, 0, 1));
  if (!line.error().empty()) return std::nullopt;
  return row;
}

void take_line(std::string_view text, int number, Table& table) {
  text = trimmed(text.substr(0, text.find('#')));
  if (text.empty()) return;
  Line line(text);
  const std::string first = plain(line.field(0));
  if (first == "collective" || first == "collectivetype") return;  // the heading
  if (line.size() < kRequired || line.size() > kMost) {
    table.errors.push_back({number,
                            "expected 8 to 10 fields (collective,min,max,algorithm,"
                            "protocol,channels,nodes,ranks[,pipe operations[,registered]])"
                            ", found " +
                                std::to_string(line.size())});
  } else if (const auto row = row_of(line)) {
    table.rows.push_back(*row);
  } else {
    table.errors.push_back({number, line.error()});
  }
}

}  // namespace

Table parse_table(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Table table;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    take_line(text.substr(0, end), number, table);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return table;
}

}  // namespace lockstep::topology::tuner
