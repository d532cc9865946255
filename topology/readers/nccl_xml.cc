#include "topology/readers/nccl_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <pugixml.hpp>
#include <utility>

#include "topology/readers/nccl_xml_machine.h"

namespace lockstep::topology {
namespace {

// NCCL itself takes 256 elements a host. These bound what the parser allocates.
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::ptrdiff_t kMaxElements = 1 << 16;
constexpr std::ptrdiff_t kMaxAttributes = 1 << 20;

int line_of(std::string_view text, std::ptrdiff_t offset) {
  const auto end = std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text));
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + end, '\n'));
}

// Whether an element of that name starts anywhere in `text`.
bool has_element(std::string_view text, std::string_view opening) {
  for (std::size_t at = text.find(opening); at != std::string_view::npos;
       at = text.find(opening, at + 1)) {
    const std::size_t after = at + opening.size();
    if (after == text.size()) return false;
    if (std::string_view(" \t\r\n/>").find(text[after]) != std::string_view::npos) return true;
  }
  return false;
}

void refuse_what_is_too_large(const Recording& recording) {
  const std::string_view text = recording.text;
  const bool fits = text.size() <= kMaxBytes &&
                    std::count(text.begin(), text.end(), '<') <= kMaxElements &&
                    std::count(text.begin(), text.end(), '=') <= kMaxAttributes;
  if (fits) return;
  throw ReadError(recording.name, 0,
                  fmt::format("expected NCCL's topology of a host, a few hundred elements, but "
                              "found more than {} of them or {} MiB; record it again",
                              kMaxElements, kMaxBytes >> 20));
}

}  // namespace

bool is_nccl_xml(std::string_view text) {
  return has_element(text, "<system") && !has_element(text, "<topology");
}

Reading read_nccl_xml(const Recording& recording) {
  refuse_what_is_too_large(recording);
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(
      recording.text.data(), recording.text.size(), pugi::parse_default, pugi::encoding_utf8);
  const int line = line_of(recording.text, result.offset);
  const pugi::xml_node system = document.child("system");
  // Where a file breaks off the last element may be without its attributes.
  const bool has_cpu = !system
                            .find_child([&result](pugi::xml_node child) {
                              return std::string_view(child.name()) == "cpu" &&
                                     (result || *child.attribute("numaid").value() != '\0');
                            })
                            .empty();
  if (!has_cpu && !result)
    throw ReadError(recording.name, line,
                    fmt::format("expected NCCL's topology XML, but it breaks off before its "
                                "first cpu: {}; record it again",
                                result.description()));
  if (!has_cpu)
    throw ReadError(recording.name, 0,
                    "expected a <system> with <cpu> elements, found none; NCCL writes such a file "
                    "where NCCL_TOPO_DUMP_FILE names it");
  NcclXmlMachine machine(recording);
  if (!result)
    machine.note({.severity = Severity::warning,
                  .code = "damaged-recording",
                  .message = fmt::format("the XML breaks off here ({}); what stands above is read",
                                         result.description()),
                  .where = fmt::format("{}:{}", recording.name, line),
                  .remedy = "record it again"});
  machine.read(system);
  return {.machine = std::move(machine).take(), .fabric = std::nullopt};
}

}  // namespace lockstep::topology
