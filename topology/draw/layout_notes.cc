#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "topology/draw/labels.h"
#include "topology/draw/layout.h"
#include "topology/draw/lettering.h"
#include "topology/draw/palette.h"

namespace lockstep::topology {
namespace {

constexpr double kSample = 24;  // the width of a legend's line or colour
constexpr double kEntry = 20;   // its height
constexpr double kIndent = 34;  // of a finding's words, after its number
constexpr std::size_t kMostFindings = 40;
constexpr std::size_t kMostLines = 4;  // of one finding's message, and of its remedy
constexpr std::size_t kLongestSentence = 1000;

// Entries side by side, in as many rows as they need.
class Row {
 public:
  Row(Canvas& canvas, Sheet sheet) : canvas_(canvas), sheet_(sheet), y_(sheet.top) {}

  // Makes room for a sample and its words; the sample's rectangle.
  Rect next(std::string_view text) {
    const double width = kSample + 6 + width_of(text, kSmall) + 22;
    if (x_ > kMargin && x_ + width > sheet_.width - kMargin) {
      x_ = kMargin;
      y_ += kEntry;
    }
    canvas_.word({x_ + kSample + 6, y_ + 3}, sheet_.width, kSmall,
                 {.text = std::string(text), .ink = Ink::faint, .bold = false});
    const Rect sample{x_, y_ + 2, kSample, kEntry - 5};
    x_ += width;
    return sample;
  }

  [[nodiscard]] double bottom() const { return y_ + kEntry; }

 private:
  Canvas& canvas_;
  Sheet sheet_;
  double x_ = kMargin, y_;
};

double paragraph(Canvas& canvas, Sheet sheet, std::string_view text, Ink ink) {
  double y = sheet.top;
  const double room = sheet.width - 2 * kMargin - kIndent;
  for (std::string& line : wrapped(text, room, kNormal, kMostLines)) {
    canvas.word({kMargin + kIndent, y}, room, kNormal,
                {.text = std::move(line), .ink = ink, .bold = false});
    y += line_height(kNormal) + 1;
  }
  return y;
}

}  // namespace

double lay_out_legend(Canvas& canvas, const PathTable& paths, WithMatrix matrix, Sheet sheet) {
  const Machine& machine = canvas.machine();
  Row row(canvas, sheet);
  std::set<LinkKind> links;
  for (const Link& link : machine.links) links.insert(link.kind);
  for (const LinkKind kind : links) {
    const Rect sample = row.next(meaning_of(kind));
    const double y = sample.y + sample.h / 2;
    canvas.wire({{sample.x, y}, {sample.right(), y}}, kind, 3);
  }
  if (matrix == WithMatrix::yes) {
    std::set<PathKind> kinds;
    for (const Path& path : paths.all()) {
      if (path.from != path.to) kinds.insert(path.kind);
    }
    for (const PathKind kind : kinds) {
      const std::string_view name = kind == PathKind::unknown ? "?"
                                    : kind == PathKind::PHB   ? "PHB, NODE"
                                                              : to_string(kind);
      canvas.box(row.next(fmt::format("{}: {}", name, meaning_of(kind))), BoxKind::swatch, kind);
    }
  }
  const auto marked = [](const Finding& finding) { return finding.severity != Severity::info; };
  if (std::ranges::any_of(machine.findings, marked)) {
    const Rect sample = row.next("red: a finding names it, by its number below");
    canvas.box(sample, BoxKind::swatch, PathKind::unknown);
    canvas.raise_alarm();
  }
  return row.bottom();
}

double lay_out_findings(Canvas& canvas, Sheet sheet) {
  const std::vector<Finding>& findings = canvas.machine().findings;
  if (findings.empty()) return sheet.top;
  double y = sheet.top;
  canvas.word({kMargin, y}, 400, kLarge, {.text = "Findings", .ink = Ink::normal, .bold = true});
  y += line_height(kLarge) + 4;
  for (std::size_t i = 0; i < std::min(findings.size(), kMostFindings); ++i) {
    const Finding& finding = findings[i];
    const Ink ink = finding.severity == Severity::info ? Ink::normal : Ink::alarm;
    canvas.word({kMargin, y}, kIndent - 6, kNormal,
                {.text = fmt::format("{}", i + 1), .ink = ink, .bold = true});
    const std::string where =
        finding.where.empty() ? std::string() : plain(finding.where, 120) + ": ";
    y = paragraph(canvas, {sheet.width, y},
                  fmt::format("{}: {}{} [{}]", to_string(finding.severity), where,
                              plain(finding.message, kLongestSentence), plain(finding.code)),
                  ink);
    if (!finding.remedy.empty())
      y = paragraph(canvas, {sheet.width, y},
                    fmt::format("do: {}", plain(finding.remedy, kLongestSentence)), Ink::faint);
    y += 4;
  }
  if (findings.size() > kMostFindings) {
    y = paragraph(canvas, {sheet.width, y},
                  fmt::format("and {} more findings", findings.size() - kMostFindings), Ink::faint);
  }
  return y;
}

}  // namespace lockstep::topology
