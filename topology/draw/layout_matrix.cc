#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "topology/draw/labels.h"
#include "topology/draw/layout.h"
#include "topology/draw/lettering.h"

namespace lockstep::topology {
namespace {

constexpr double kHead = 62;  // of a row
constexpr double kRow = 20;

// In the middle of a rectangle.
void centred(Canvas& canvas, Rect rect, const Line& line) {
  const double width =
      std::min(width_of(line.text, kSmall, line.bold ? Weight::bold : Weight::plain), rect.w - 2);
  canvas.word({rect.middle() - width / 2, rect.y + (rect.h - line_height(kSmall)) / 2}, rect.w - 2,
              kSmall, line);
}

}  // namespace

double lay_out_matrix(Canvas& canvas, const PathTable& paths, Sheet sheet) {
  const Machine& machine = canvas.machine();
  std::vector<DeviceId> devices;
  for (int i = 0; i < static_cast<int>(machine.gpus.size()); ++i)
    devices.push_back({DeviceKind::gpu, i});
  for (int i = 0; i < static_cast<int>(machine.nics.size()); ++i)
    devices.push_back({DeviceKind::nic, i});
  const std::size_t left_out = devices.size() > kMostInMatrix ? devices.size() - kMostInMatrix : 0;
  devices.resize(devices.size() - left_out);

  const double column = std::clamp(
      (sheet.width - 2 * kMargin - kHead) / static_cast<double>(devices.size()), 46.0, 72.0);
  const auto colour = [&canvas](DeviceId id) {
    return Line{
        .text = to_string(id), .ink = canvas.alarmed(id) ? Ink::alarm : Ink::normal, .bold = true};
  };
  double y = sheet.top;
  for (std::size_t c = 0; c < devices.size(); ++c)
    centred(canvas, {kMargin + kHead + static_cast<double>(c) * column, y, column, kRow},
            colour(devices[c]));
  for (const DeviceId row : devices) {
    y += kRow;
    canvas.word({kMargin, y + 4}, kHead - 4, kSmall, colour(row));
    for (std::size_t c = 0; c < devices.size(); ++c) {
      const Path path = paths.between(row, devices[c]);
      const Rect rect{kMargin + kHead + static_cast<double>(c) * column, y, column, kRow};
      canvas.box(rect, BoxKind::cell, path.kind);
      centred(canvas, rect, {.text = label_of(path), .ink = Ink::normal, .bold = false});
    }
  }
  y += kRow;
  if (left_out > 0) {
    canvas.word(
        {kMargin, y + 4}, 600, kSmall,
        {.text = fmt::format("and {} more devices", left_out), .ink = Ink::faint, .bold = false});
    y += kRow;
  }
  return y;
}

}  // namespace lockstep::topology
