// The elements of SVG 1.1 that pictures are made of.
//
// Text becomes well-formed whatever it holds: markup is escaped, control bytes become blanks, and
// what is not UTF-8 or not a character of XML becomes U+FFFD. Thread rule: one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "topology/draw/picture.h"

namespace lockstep::topology {

[[nodiscard]] std::string xml_text(std::string_view text);

struct Stroke {
  std::string_view colour;
  double width = 1;
  enum class Style { solid, dashed } style = Style::solid;
};

class SvgWriter {
 public:
  SvgWriter(double width, double height, std::string_view background);

  // `id` and `title` may be empty.
  struct Labels {
    std::string_view id, title;
  };
  void rect(const Rect& rect, std::string_view fill, Stroke stroke, Labels labels);
  void line(std::span<const Point> points, Stroke stroke);
  void text(const Word& word, std::string_view colour);

  [[nodiscard]] std::string finish() &&;

 private:
  std::string svg_;
};

}  // namespace lockstep::topology
