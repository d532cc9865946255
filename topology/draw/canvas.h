// A picture while it is drawn: puts boxes, words and wires, and knows where each device is.
//
// Thread rule: one thread. The machine must outlive it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/draw/picture.h"

namespace lockstep::topology {

inline constexpr double kMargin = 20;
inline constexpr double kBoxPad = 4;  // between a box and its words
inline constexpr double kSmall = 10;  // sizes of fonts
inline constexpr double kNormal = 11;
inline constexpr double kLarge = 13;

// Words of a box, one line each. What is bold is larger too.
struct Line {
  std::string text;
  Ink ink = Ink::normal;
  bool bold = false;
};

class Canvas {
 public:
  explicit Canvas(const Machine& machine);

  // A box that stands for no device.
  void box(Rect rect, BoxKind kind);
  // Of a matrix (cell) or legend (swatch), in the colour of `path`.
  void box(Rect rect, BoxKind kind, PathKind path);
  // Makes the box that was put last red.
  void raise_alarm() { picture_.boxes.back().alarm = true; }
  // The box of a device, in red and with the numbers of its findings where there are some.
  void device(DeviceId id, BoxKind kind, Rect rect, std::span<const Line> lines);

  // One line whose box starts at (x, y), cut to `room`. Returns the width taken.
  double word(Point at, double room, double size, const Line& line);
  void wire(std::vector<Point> points, LinkKind kind, double width, Ink ink = Ink::normal);

  // Where a device's box is; null if it has none yet.
  [[nodiscard]] const Rect* place_of(DeviceId id) const;
  [[nodiscard]] bool alarmed(DeviceId id) const { return marks_.contains(id); }
  [[nodiscard]] const Machine& machine() const { return machine_; }

  // The picture, as high as `bottom` and a margin.
  [[nodiscard]] Picture finish(double width, double bottom) &&;

 private:
  const Machine& machine_;
  std::map<DeviceId, std::vector<std::size_t>> marks_;
  std::map<DeviceId, Rect> places_;
  Picture picture_;
};

// The height of a line of that size, and of a box of so many lines.
[[nodiscard]] double line_height(double size);
[[nodiscard]] double box_height(std::size_t lines);

}  // namespace lockstep::topology
