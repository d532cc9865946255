#include "topology/draw/palette.h"

#include <algorithm>
#include <cmath>

namespace lockstep::topology {

Paint paint_of(BoxKind kind) {
  switch (kind) {
    case BoxKind::panel:
      return {"#f7f8fa", "#b5bec8"};
    case BoxKind::numa:
      return {"#e6eaef", "#8793a0"};
    case BoxKind::pcie_switch:
      return {"#fff3d6", "#b98a1d"};
    case BoxKind::gpu:
      return {"#e3f4d7", "#4f8a10"};
    case BoxKind::nic:
      return {"#dcecfb", "#2b6cb0"};
    case BoxKind::nvswitch:
      return {"#ffffff", "#4f8a10"};
    case BoxKind::bar:
      return {"#cfe8b8", "#4f8a10"};
    case BoxKind::cell:
    case BoxKind::swatch:
      return {"#ffffff", "#d5d9de"};
  }
  return {"#ffffff", "#d5d9de"};
}

std::string_view colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "#5b9a17";
    case LinkKind::xgmi:
      return "#d9731a";
    case LinkKind::c2c:
      return "#7b3fb5";
    case LinkKind::pcie:
      return "#56697d";
    case LinkKind::numa:
      return "#8c5a3c";
  }
  return "#56697d";
}

std::string_view colour_of(Ink ink) {
  switch (ink) {
    case Ink::normal:
      return "#1d2733";
    case Ink::faint:
      return "#56616e";
    case Ink::alarm:
      return kAlarm;
  }
  return "#1d2733";
}

std::string_view fill_of(PathKind kind) {
  switch (kind) {
    case PathKind::LOC:
      return "#e9ecef";
    case PathKind::NVL:
      return "#9fd468";
    case PathKind::NVB:
      return "#c3e6a0";
    case PathKind::C2C:
    case PathKind::P2C:
      return "#d9c2f0";
    case PathKind::PIX:
      return "#8fc1f0";
    case PathKind::PXB:
    case PathKind::PXN:
      return "#c0dcf7";
    case PathKind::PHB:
      return "#ffe3a3";
    case PathKind::SYS:
      return "#f8c9a8";
    case PathKind::NET:
    case PathKind::DIS:
      return "#f3a6a6";
    case PathKind::unknown:
      return "#ffffff";
  }
  return "#ffffff";
}

std::string_view meaning_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "NVLink";
    case LinkKind::xgmi:
      return "xGMI";
    case LinkKind::c2c:
      return "chip to chip";
    case LinkKind::pcie:
      return "PCIe, thicker with more lanes";
    case LinkKind::numa:
      return "between NUMA nodes";
  }
  return "";
}

double line_width(LinkKind kind, int count) {
  const double most = kind == LinkKind::pcie ? 16 : 18;
  return 1 + 3 * std::sqrt(std::clamp(static_cast<double>(count), 1.0, most) / most);
}

}  // namespace lockstep::topology
