#include "topology/draw/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topology/draw/labels.h"
#include "topology/draw/lettering.h"
#include "topology/draw/marks.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMostBadges = 3;

// "1, 4" of findings 0 and 3.
std::string badge(const std::vector<std::size_t>& findings) {
  std::string text;
  for (std::size_t i = 0; i < findings.size() && i < kMostBadges; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", findings[i] + 1);
  return findings.size() > kMostBadges ? text + ".." : text;
}

bool is_down(const Machine& machine, DeviceId id) {
  return id.kind == DeviceKind::nic &&
         machine.nics[static_cast<std::size_t>(id.index)].state == NicState::down;
}

}  // namespace

double line_height(double size) {
  return size * 1.25;
}

double box_height(std::size_t lines) {
  return 2 * kBoxPad + line_height(kNormal) + static_cast<double>(lines - 1) * line_height(kSmall);
}

Canvas::Canvas(const Machine& machine) : machine_(machine), marks_(marks_of(machine)) {}

void Canvas::box(Rect rect, BoxKind kind) {
  picture_.boxes.push_back({.rect = rect,
                            .kind = kind,
                            .device = std::nullopt,
                            .path = std::nullopt,
                            .alarm = false,
                            .quiet = false,
                            .title = ""});
}

void Canvas::box(Rect rect, BoxKind kind, PathKind path) {
  box(rect, kind);
  picture_.boxes.back().path = path;
}

void Canvas::device(DeviceId id, BoxKind kind, Rect rect, std::span<const Line> lines) {
  box(rect, kind);
  Box& drawn = picture_.boxes.back();
  drawn.device = id;
  drawn.quiet = is_down(machine_, id);
  drawn.title = label_of(machine_, id);
  places_.emplace(id, rect);

  const double room = rect.w - 2 * kBoxPad;
  double badge_room = 0;
  if (const auto marks = marks_.find(id); marks != marks_.end()) {
    drawn.alarm = true;
    const std::string text = badge(marks->second);
    const double width = std::min(width_of(text, kSmall, Weight::bold), room / 2);
    word({rect.right() - kBoxPad - width, rect.y + kBoxPad}, width, kSmall,
         {.text = text, .ink = Ink::alarm, .bold = true});
    badge_room = width + 3;
  }
  double y = rect.y + kBoxPad;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double size = lines[i].bold ? kNormal : kSmall;
    word({rect.x + kBoxPad, y}, room - (i == 0 ? badge_room : 0), size, lines[i]);
    y += line_height(size);
  }
}

double Canvas::word(Point at, double room, double size, const Line& line) {
  const Weight weight = line.bold ? Weight::bold : Weight::plain;
  std::string text = fitted(line.text, room, size, weight);
  if (text.empty()) return 0;
  const double width = width_of(text, size, weight);
  picture_.words.push_back({.box = {at.x, at.y, width, line_height(size)},
                            .text = std::move(text),
                            .ink = line.ink,
                            .size = size,
                            .bold = line.bold});
  return width;
}

void Canvas::wire(std::vector<Point> points, LinkKind kind, double width, Ink ink) {
  picture_.wires.push_back(
      {.points = std::move(points), .kind = kind, .width = width, .alarm = ink == Ink::alarm});
}

const Rect* Canvas::place_of(DeviceId id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &found->second;
}

Picture Canvas::finish(double width, double bottom) && {
  picture_.width = width;
  picture_.height = bottom + kMargin;
  return std::move(picture_);
}

}  // namespace lockstep::topology
