#include "topology/draw/text.h"

#include <fmt/format.h>

#include "topology/draw/labels.h"
#include "topology/draw/matrix.h"
#include "topology/draw/tree.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kLongestSentence = 1000;

}  // namespace

std::string draw_findings(std::span<const Finding> findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{}: {} [{}]\n", to_string(finding.severity),
                        plain(finding.message, kLongestSentence), plain(finding.code));
    if (!finding.where.empty())
      text += fmt::format("  where: {}\n", plain(finding.where, kLongestSentence));
    if (!finding.remedy.empty())
      text += fmt::format("  do: {}\n", plain(finding.remedy, kLongestSentence));
  }
  return text;
}

std::string draw_text(const Machine& machine, const PathTable& paths) {
  const std::string cpu = label_of(machine.cpu);
  std::string text =
      fmt::format("{}{}{}\n", machine.name.empty() ? "this host" : plain(machine.name),
                  cpu.empty() ? "" : ": ", cpu);
  text += fmt::format("{}\n", gpus_in_words(machine));
  text += fmt::format("\n{}", draw_tree(machine));
  const std::string matrix = draw_matrix(machine, paths);
  if (!matrix.empty()) text += fmt::format("\n{}", matrix);
  if (!machine.findings.empty()) text += fmt::format("\n{}", draw_findings(machine.findings));
  return text;
}

}  // namespace lockstep::topology
