#include "topology/readers/formats.h"

#include <fmt/format.h>

#include <array>

#include "topology/readers/nccl_xml.h"

namespace lockstep::topology {
namespace {

constexpr std::array kFormats{
    Format{"nccl-xml", is_nccl_xml, read_nccl_xml},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Reading read_recording(const Recording& recording) {
  for (const Format& format : formats()) {
    if (format.recognises(recording.text)) return format.read(recording);
  }
  std::string names;
  for (const Format& format : formats())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  throw ReadError(recording.name, 0,
                  fmt::format("not a recording that can be read; known are: {}", names));
}

}  // namespace lockstep::topology
