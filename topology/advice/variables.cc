#include "topology/advice/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "topology/blanks.h"
#include "topology/letters.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kLongestName = 64;

constexpr std::string_view kAlgorithms = "Tree|Ring|CollnetDirect|CollnetChain|NVLS|NVLSTree|PAT";
constexpr std::string_view kProtocols = "LL|LL128|Simple";
constexpr std::string_view kFunctions =
    "Broadcast|Reduce|AllGather|ReduceScatter|AllReduce|SendRecv|Send|Recv|AlltoAll|Gather|Scatter";
constexpr std::string_view kLevels = "LOC|NVL|NVB|C2C|PIX|PXB|P2C|PXN|PHB|SYS|PORT";

// Plug-ins (FasTrak, TCPX, OFI, SHARP, UCX), PyTorch, Lockstep's tuner, nccl-tests, and builds.
constexpr std::array<std::string_view, 20> kForeign = {
    "NCCL_FASTRAK_",      "NCCL_GPUDIRECTTCPX_", "NCCL_SHIMNET_",      "NCCL_TUNER_CONFIG",
    "NCCL_UCX_",          "NCCL_SHARP_",         "NCCL_PLUGIN_",       "NCCL_OFI_",
    "NCCL_TESTS_",        "NCCL_ROOT",           "NCCL_HOME",          "NCCL_VERSION",
    "NCCL_LIB",           "NCCL_INCLUDE",        "NCCL_DIR",           "NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_BLOCKING_WAIT", "NCCL_DESYNC_DEBUG",   "NCCL_ENABLE_TIMING", "NCCL_HCOLL_"};

bool is_word(std::string_view word, std::string_view words) {
  while (true) {
    const auto bar = words.find('|');
    if (same_letters(word, words.substr(0, bar))) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string fault_of_choice(std::string_view value, std::string_view words) {
  for (std::string_view part : split(value, ';')) {
    if (const auto colon = part.find(':'); colon != std::string_view::npos) {
      if (!is_word(part.substr(0, colon), kFunctions)) {
        return fmt::format("'{}' is no collective NCCL knows", part.substr(0, colon));
      }
      part.remove_prefix(colon + 1);
    }
    if (part.starts_with('^')) part.remove_prefix(1);
    for (const std::string_view word : split(part, ',')) {
      if (!is_word(word, words)) {
        return fmt::format("'{}' is none of {}; NCCL 2.24 and newer stops at it", word, words);
      }
    }
  }
  return {};
}

std::optional<long> parse_integer(std::string_view text) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string fault_of_integer(const Variable& variable, std::string_view value) {
  const auto number = parse_integer(value);
  if (!number) return fmt::format("'{}' is no whole number", value);
  if (*number >= variable.least && *number <= variable.most) return {};
  return fmt::format("{} is out of range: {} to {}", *number, variable.least, variable.most);
}

std::optional<ValueFault> fault_of_level(std::string_view value) {
  constexpr std::array<std::string_view, 5> kByNumber = {"LOC", "PIX", "PXB", "PHB", "SYS"};
  if (const auto number = parse_integer(value); number && *number >= 0) {
    const std::string name(kByNumber[static_cast<std::size_t>(std::min(*number, 4L))]);
    return ValueFault{
        .says =
            fmt::format("numbers are an old form that reads otherwise than people think: {} is {}",
                        value, name),
        .correction = name};
  }
  if (is_word(value, kLevels)) return std::nullopt;
  return ValueFault{.says = fmt::format("'{}' is none of {}", value, kLevels), .correction = ""};
}

// A fault whose right value does not follow; the empty text: none.
std::optional<ValueFault> fault_that_says(std::string says) {
  if (says.empty()) return std::nullopt;
  return ValueFault{.says = std::move(says), .correction = ""};
}

// Without blanks and quotes around it.
std::string_view unframed(std::string_view value) {
  constexpr std::string_view kFrame = " \t\"'";
  const std::size_t first = value.find_first_not_of(kFrame);
  if (first == std::string_view::npos) return {};
  return value.substr(first, value.find_last_not_of(kFrame) - first + 1);
}

// Levenshtein's distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

const Variable* find_variable(std::string_view name) {
  const auto all = variables();
  const auto at = std::lower_bound(
      all.begin(), all.end(), name,
      [](const Variable& variable, std::string_view wanted) { return variable.name < wanted; });
  return at != all.end() && at->name == name ? &*at : nullptr;
}

bool exists_in(const Variable& variable, NcclVersion version) {
  return variable.since <= version && (variable.until == NcclVersion{} || version < variable.until);
}

std::optional<std::string_view> nearest_variable(std::string_view name) {
  name = name.substr(0, kLongestName);
  std::optional<std::string_view> best;
  // More than three letters off is another word, and so is a third of a short one.
  constexpr std::size_t kPrefix = std::string_view("NCCL_").size();
  std::size_t best_distance =
      1 + std::min<std::size_t>(3, (name.size() - std::min(name.size(), kPrefix)) / 3);
  for (const Variable& variable : variables()) {
    const std::size_t d = distance(name, variable.name);
    if (d < best_distance) {
      best_distance = d;
      best = variable.name;
    }
  }
  if (best) return best;
  // A name cut short, as NCCL_NSOCKS: the shortest that goes on from it.
  for (const Variable& variable : variables()) {
    if (name.size() > 8 && variable.name.starts_with(name) &&
        (!best || variable.name.size() < best->size())) {
      best = variable.name;
    }
  }
  return best;
}

bool is_foreign(std::string_view name) {
  return find_variable(name) == nullptr &&
         std::any_of(kForeign.begin(), kForeign.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

std::optional<ValueFault> fault_of_value(const Variable& variable, std::string_view value) {
  if (value.empty()) return std::nullopt;
  if (value.find_first_of("\r\n") != std::string_view::npos) {
    return ValueFault{.says = "the value has a line break",
                      .correction = std::string(trimmed(value))};
  }
  if (const std::string_view inner = unframed(value); inner != value) {
    return ValueFault{
        .says = fmt::format("the blanks or quotes around [{}] are part of the value: NCCL's files "
                            "know no quoting",
                            value),
        .correction = std::string(inner)};
  }
  switch (variable.grammar) {
    case Grammar::integer:
      return fault_that_says(fault_of_integer(variable, value));
    case Grammar::words:
      if (is_word(value, variable.words)) return std::nullopt;
      return fault_that_says(fmt::format("'{}' is none of {}", value, variable.words));
    case Grammar::level:
      return fault_of_level(value);
    case Grammar::algorithms:
      return fault_that_says(fault_of_choice(value, kAlgorithms));
    case Grammar::protocols:
      return fault_that_says(fault_of_choice(value, kProtocols));
    case Grammar::text:
    case Grammar::devices:
    case Grammar::interfaces:
      break;
  }
  return std::nullopt;
}

}  // namespace lockstep::topology
