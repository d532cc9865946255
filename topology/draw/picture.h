// A drawing as values: boxes, words and wires at their places, before any format writes them.
//
// Thread rule: values. Units are pixels at natural size, x to the right, y down.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

struct Rect {
  double x = 0, y = 0, w = 0, h = 0;

  [[nodiscard]] double right() const { return x + w; }
  [[nodiscard]] double bottom() const { return y + h; }
  [[nodiscard]] double middle() const { return x + w / 2; }

  bool operator==(const Rect&) const = default;
};

struct Point {
  double x = 0, y = 0;

  bool operator==(const Point&) const = default;
};

enum class Ink { normal, faint, alarm };

// One line of words. Its box is what it may take: an estimate on the wide side.
struct Word {
  Rect box;  // the baseline lies a fifth of the height above the bottom
  std::string text;
  Ink ink = Ink::normal;
  double size = 11;  // of the font
  bool bold = false;
};

enum class BoxKind { panel, numa, pcie_switch, gpu, nic, nvswitch, bar, cell, swatch };

struct Box {
  Rect rect;
  BoxKind kind = BoxKind::cell;
  std::optional<DeviceId> device;  // of the one box that stands for it
  std::optional<PathKind> path;    // of a cell or swatch: which colour
  bool alarm = false;              // a finding names the device
  bool quiet = false;              // a NIC that is down
  std::string title;               // what is known, at full length, for who points at it
};

struct Wire {
  std::vector<Point> points;
  LinkKind kind = LinkKind::pcie;
  double width = 1;
  bool alarm = false;
};

struct Picture {
  double width = 0, height = 0;
  std::vector<Box> boxes;  // what lies behind comes first
  std::vector<Wire> wires;
  std::vector<Word> words;
};

}  // namespace lockstep::topology
