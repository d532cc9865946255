#include "topology/draw/svg_writer.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace lockstep::topology {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The length of the character of UTF-8 that `text` starts with, if it is one that XML may hold;
// else 0. REQUIRES: not empty.
std::size_t character(std::string_view text) {
  const auto byte = [&text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : std::uint32_t{0};
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint32_t code = 0;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    code = first & 0x1fU;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    code = first & 0x0fU;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    code = first & 0x07U;
  } else {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool control = code < 0xa0;
  if (overlong || surrogate || control || code == 0xfffe || code == 0xffff || code > 0x10ffff)
    return 0;
  return length;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0) {
      safe += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    const char c = text.front();
    if (length > 1) {
      safe += text.substr(0, length);
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else if (c == '"') {
      safe += "&quot;";
    } else {
      safe += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
    text.remove_prefix(length);
  }
  return safe;
}

SvgWriter::SvgWriter(double width, double height, std::string_view background)
    : svg_(fmt::format(
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0:.5g}\" "
          "height=\"{1:.5g}\" viewBox=\"0 0 {0:.5g} {1:.5g}\" "
          "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n"
          "<rect x=\"0\" y=\"0\" width=\"{0:.5g}\" height=\"{1:.5g}\" fill=\"{2}\"/>\n",
          width, height, background)) {}

void SvgWriter::rect(const Rect& rect, std::string_view fill, Stroke stroke, Labels labels) {
  svg_ += fmt::format(
      "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\" rx=\"3\" fill=\"{}\" "
      "stroke=\"{}\" stroke-width=\"{:.3g}\"",
      rect.x, rect.y, rect.w, rect.h, fill, stroke.colour, stroke.width);
  if (stroke.style == Stroke::Style::dashed) svg_ += " stroke-dasharray=\"4 3\"";
  if (!labels.id.empty()) svg_ += fmt::format(" id=\"{}\"", xml_text(labels.id));
  svg_ += labels.title.empty() ? "/>\n"
                               : fmt::format("><title>{}</title></rect>\n", xml_text(labels.title));
}

void SvgWriter::line(std::span<const Point> points, Stroke stroke) {
  svg_ += "<polyline points=\"";
  for (std::size_t i = 0; i < points.size(); ++i)
    svg_ += fmt::format("{}{:.6g},{:.6g}", i == 0 ? "" : " ", points[i].x, points[i].y);
  svg_ += fmt::format("\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.3g}\"/>\n", stroke.colour,
                      stroke.width);
}

void SvgWriter::text(const Word& word, std::string_view colour) {
  svg_ +=
      fmt::format("<text x=\"{:.6g}\" y=\"{:.6g}\" font-size=\"{:.3g}\" fill=\"{}\"{}>{}</text>\n",
                  word.box.x, word.box.bottom() - word.box.h / 5, word.size, colour,
                  word.bold ? " font-weight=\"bold\"" : "", xml_text(word.text));
}

std::string SvgWriter::finish() && {
  return std::move(svg_) + "</svg>\n";
}

}  // namespace lockstep::topology
