#include "topology/draw/svg.h"

#include <utility>

#include "topology/draw/layout.h"
#include "topology/draw/palette.h"
#include "topology/draw/svg_writer.h"

namespace lockstep::topology {

std::string draw_svg(const Machine& machine, const PathTable& paths) {
  const Picture picture = lay_out(machine, paths);
  SvgWriter svg(picture.width, picture.height, kPaper);
  const auto put = [&svg](const Box& box) {
    const Paint paint = paint_of(box.kind);
    const std::string_view fill = box.alarm  ? kAlarmFill
                                  : box.path ? fill_of(*box.path)
                                             : paint.fill;
    const Stroke stroke{.colour = box.alarm ? kAlarm : paint.line,
                        .width = box.alarm ? 2.5 : 1,
                        .style = box.quiet ? Stroke::Style::dashed : Stroke::Style::solid};
    const std::string id = box.device ? to_string(*box.device) : std::string();
    svg.rect(box.rect, fill, stroke, {.id = id, .title = box.title});
  };
  const auto behind = [](const Box& box) { return box.kind == BoxKind::panel; };
  for (const Box& box : picture.boxes) {
    if (behind(box)) put(box);
  }
  for (const Wire& wire : picture.wires)
    svg.line(wire.points, {.colour = wire.alarm ? kAlarm : colour_of(wire.kind),
                           .width = wire.width,
                           .style = Stroke::Style::solid});
  for (const Box& box : picture.boxes) {
    if (!behind(box)) put(box);
  }
  for (const Word& word : picture.words) svg.text(word, colour_of(word.ink));
  return std::move(svg).finish();
}

}  // namespace lockstep::topology
