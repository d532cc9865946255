#include "topology/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "topology/readers/lines.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {
namespace {

// Sizes double or grow by a step; no sweep has more.
constexpr std::size_t kMaxRows = 1 << 16;

constexpr std::array kCollectives{
    std::pair{std::string_view("all_reduce"), Collective::all_reduce},
    std::pair{std::string_view("all_gather"), Collective::all_gather},
    std::pair{std::string_view("reduce_scatter"), Collective::reduce_scatter},
    std::pair{std::string_view("alltoall"), Collective::all_to_all},
    std::pair{std::string_view("broadcast"), Collective::broadcast},
    std::pair{std::string_view("sendrecv"), Collective::send_recv},
    std::pair{std::string_view("gather"), Collective::gather},
    std::pair{std::string_view("scatter"), Collective::scatter},
    std::pair{std::string_view("reduce"), Collective::reduce},
};

// "all_reduce_perf", with or without a path and arguments.
Collective collective_in(std::string_view line) {
  for (const auto& [name, collective] : kCollectives) {
    const std::size_t at = line.find(name);
    if (at != kNowhere && line.substr(at + name.size()).starts_with("_perf")) return collective;
  }
  return Collective::unknown;
}

// The names of a table's columns, where `line` is the header's line that has them.
std::vector<std::string_view> columns_of(std::string_view line) {
  const auto rest = after(trimmed(line), "#");
  if (!rest) return {};
  auto names = words(*rest);
  const auto has = [&names](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  return has("size") && has("algbw") && has("busbw") ? names : std::vector<std::string_view>();
}

std::optional<double> decimal(std::string_view word) {
  return parse_number<double>(word);
}

// Fills the row's column of that name; false where the word cannot stand there.
bool set(std::string_view name, std::string_view word, NcclTestsRow& row) {
  if (name == "size" || name == "count") {
    const auto value = parse_number<std::uint64_t>(word);
    (name == "size" ? row.bytes : row.count) = value.value_or(0);
    return value.has_value();
  }
  if (name == "type") row.type = word;
  if (name == "redop") row.op = word;
  if (name == "root") {
    const auto root = parse_number<int>(word);
    if (root && *root >= 0) row.root = root;
    return root.has_value();
  }
  return true;
}

bool set(std::string_view name, std::string_view word, NcclTestsTiming& timing) {
  if (name == "#wrong") {
    timing.wrong = parse_number<std::int64_t>(word);
    return timing.wrong || word == "N/A";
  }
  const auto value = decimal(word);
  if (name == "error") {
    timing.error = value;
    return value || word == "N/A";
  }
  if (name == "time") timing.time_us = value.value_or(0);
  if (name == "algbw") timing.algbw_GBps = value.value_or(0);
  if (name == "busbw") timing.busbw_GBps = value;
  return value.has_value();
}

std::optional<NcclTestsRow> parse_row(std::string_view line,
                                      const std::vector<std::string_view>& columns) {
  const auto texts = words(line);
  if (texts.size() != columns.size()) return std::nullopt;
  NcclTestsRow row;
  NcclTestsTiming* timing = nullptr;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (columns[i] == "time") {
      if (timing == nullptr) {
        timing = &row.out_of_place;
      } else {
        timing = &row.in_place.emplace();
      }
    }
    if (!(timing == nullptr ? set(columns[i], texts[i], row) : set(columns[i], texts[i], *timing)))
      return std::nullopt;
  }
  return timing == nullptr ? std::nullopt : std::optional(row);
}

// "# Avg bus bandwidth    : 745.53"
std::optional<std::string_view> footer(std::string_view line, std::string_view name) {
  const auto rest = after(trimmed(line), "# ");
  const auto value = rest ? after(*rest, name) : std::nullopt;
  const std::size_t colon = value ? value->find(':') : kNowhere;
  if (colon == kNowhere) return std::nullopt;
  const auto parts = words(value->substr(colon + 1));
  return parts.empty() ? std::nullopt : std::optional(parts.front());
}

// "#  Rank  0 Group  0 Pid  4711 on host device  0 [0x07] NVIDIA H100"
bool is_rank(std::string_view line) {
  const auto parts = words(line);
  return parts.size() > 3 && parts[0] == "#" && parts[1] == "Rank" &&
         parse_number<int>(parts[2]).has_value();
}

// With one rank nothing is sent, and nccl-tests prints a bandwidth of 0.
void forget_busbw(NcclTestsTable& table) {
  for (NcclTestsRow& row : table.rows) {
    row.out_of_place.busbw_GBps.reset();
    if (row.in_place) row.in_place->busbw_GBps.reset();
  }
  table.average_busbw_GBps.reset();
}

}  // namespace

std::optional<double> bus_factor(Collective collective, int ranks) {
  if (ranks <= 1) return std::nullopt;
  const double n = ranks;
  switch (collective) {
    case Collective::unknown:
      return std::nullopt;
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv:
      return 1;
  }
  return std::nullopt;
}

std::string bandwidth_to_string(std::optional<double> GBps) {
  return GBps ? fmt::format("{:.2f}", *GBps) : "undefined";
}

std::optional<NcclTestsRun> infer_run(const NcclTestsTable& table) {
  const auto largest = std::ranges::max_element(table.rows, {}, &NcclTestsRow::bytes);
  if (largest == table.rows.end()) return std::nullopt;
  const NcclTestsTiming& timing = largest->out_of_place;
  if (!timing.busbw_GBps || *timing.busbw_GBps <= 0 || timing.algbw_GBps <= 0) return std::nullopt;
  const double ratio = *timing.busbw_GBps / timing.algbw_GBps;
  const bool doubled = ratio > 1;
  // 1 - (n-1)/n
  const double left = 1 - ratio / (doubled ? 2 : 1);
  // Both bandwidths have two decimals; nearer to 1 they fit many numbers of ranks.
  const double slack = 0.01 / timing.algbw_GBps;
  if (left <= slack || std::abs(ratio - 1) <= slack) return std::nullopt;
  const int ranks = static_cast<int>(std::lround(1 / left));
  const NcclTestsRun run{doubled ? Collective::all_reduce : Collective::all_gather, ranks};
  const auto factor = bus_factor(run.collective, ranks);
  if (!factor || std::abs(*factor - ratio) > 2 * slack) return std::nullopt;
  return run;
}

bool is_nccl_tests(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    if (!columns_of(lines.text()).empty()) return true;
  }
  return false;
}

NcclTestsTable read_nccl_tests(const Recording& recording) {
  NcclTestsTable table;
  Notes notes(recording.name);
  std::vector<std::string_view> columns;
  int ranks = 0;
  for (Lines lines(recording.text); lines.next();) {
    const std::string_view line = lines.text();
    if (columns.empty()) {
      columns = columns_of(line);
      if (is_rank(line)) ++ranks;
    }
    if (table.collective == Collective::unknown) table.collective = collective_in(line);
    if (const auto version = after(trimmed(line), "# nccl-tests version "))
      table.version = words(*version).empty() ? "" : words(*version).front();
    if (const auto average = footer(line, "Avg bus bandwidth"))
      table.average_busbw_GBps = decimal(*average);
    if (const auto wrong = footer(line, "Out of bounds values"))
      table.out_of_bounds = parse_number<std::int64_t>(*wrong);

    const std::string_view row_text = trimmed(line);
    if (columns.empty() || row_text.empty() || row_text.front() < '0' || row_text.front() > '9')
      continue;
    auto row = parse_row(row_text, columns);
    if (row && table.rows.size() < kMaxRows) {
      table.rows.push_back(*std::move(row));
      continue;
    }
    notes.add({.severity = Severity::warning,
               .code = "row-refused",
               .message = fmt::format("a row is not read: {} numbers and words as in the header "
                                      "were expected, found \"{}\"",
                                      columns.size(), row_text.substr(0, 80)),
               .remedy = "keep the table as nccl-tests printed it"},
              lines.number());
  }
  if (columns.empty()) {
    throw ReadError(recording.name, 0,
                    "a header of nccl-tests (\"# size count type ... algbw busbw\") was expected, "
                    "none is there");
  }
  if (ranks > 0) table.ranks = ranks;
  if (table.ranks == 1) forget_busbw(table);
  table.findings = notes.take();
  return table;
}

}  // namespace lockstep::topology
