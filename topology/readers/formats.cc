#include "topology/readers/formats.h"

#include <fmt/format.h>

#include <array>

#include "topology/readers/hwloc_xml.h"
#include "topology/readers/sysfs_snapshot.h"

namespace lockstep::topology {
namespace {

constexpr std::array<Format, 2> kFormats{
    {{"hwloc-xml", is_hwloc_xml, read_hwloc_xml},
     {"sysfs-snapshot", is_sysfs_snapshot, read_sysfs_snapshot}}};

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
