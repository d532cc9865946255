#include <fmt/format.h>

#include <stdexcept>

#include "topology/advice/comments.h"
#include "topology/advice/refusal.h"
#include "topology/advice/writers.h"

namespace lockstep::topology {
namespace {

// NCCL's buffer for a name and for a value is 1024 bytes, the last of which is NUL.
constexpr std::size_t kLongest = 1023;

std::string fault_of_line(const Advice& advice) {
  constexpr std::string_view kBreaks{"\n\r\0", 3};
  if (advice.variable.empty() || advice.variable.starts_with('#') ||
      advice.variable.find('=') != std::string::npos) {
    return "the name is empty, begins a comment or has a '='";
  }
  if (advice.variable.find_first_of(kBreaks) != std::string::npos ||
      advice.value.find_first_of(kBreaks) != std::string::npos) {
    return "a line break cannot be quoted there";
  }
  if (advice.variable.size() > kLongest || advice.value.size() > kLongest) {
    return fmt::format("name and value may have {} bytes each, found {} and {}", kLongest,
                       advice.variable.size(), advice.value.size());
  }
  return {};
}

}  // namespace

std::string write_conf(const HostAdvice& advice) {
  refuse_harm(advice);
  std::string text = heading_comment(advice);
  for (const Advice& one : advice.settings) {
    text += setting_comment(one);
    if (one.kept) continue;
    if (const auto fault = fault_of_line(one); !fault.empty()) {
      throw std::invalid_argument(fmt::format("{} cannot be written to NCCL_CONF_FILE: {}",
                                              on_one_line(one.variable), fault));
    }
    text += fmt::format("{}={}\n", one.variable, one.value);
  }
  return text;
}

}  // namespace lockstep::topology
