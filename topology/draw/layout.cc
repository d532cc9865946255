#include "topology/draw/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "topology/bandwidth.h"
#include "topology/draw/labels.h"
#include "topology/draw/palette.h"
#include "topology/draw/speeds.h"

namespace lockstep::topology {
namespace {

constexpr double kNarrowest = 760;  // findings and legend need room too
constexpr std::size_t kMostNames = 8;

std::string summary(const Machine& machine) {
  std::string text = gpus_in_words(machine);
  text += ", " + counted(machine.nics.size(), "NIC");
  if (!machine.switches.empty())
    text += ", " + counted(machine.switches.size(), "PCIe switch", "es");
  if (!machine.nvswitches.empty())
    text += ", " + counted(machine.nvswitches.size(), "NVSwitch", "es");
  return text;
}

// "GPU to GPU: 28 pairs NV18, 370 GB/s"; the kinds with most pairs first.
std::string pairs_between_gpus(const Machine& machine, const PathTable& paths) {
  std::map<std::string, int> pairs;
  for (const Path& path : paths.all()) {
    if (path.from.kind != DeviceKind::gpu || path.to.kind != DeviceKind::gpu ||
        !(path.from < path.to))
      continue;
    std::string key = path.label.empty() ? std::string(to_string(path.kind)) : plain(path.label, 8);
    if (path.GBps) key += " at " + speed_text(path.GBps);
    ++pairs[key];
  }
  if (machine.gpus.size() < 2 || pairs.empty()) return {};
  std::vector<std::pair<std::string, int>> sorted(pairs.begin(), pairs.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &std::pair<std::string, int>::second);
  sorted.resize(std::min(sorted.size(), kMostNames));
  std::vector<std::string> words;
  for (const auto& [key, count] : sorted)
    words.push_back(fmt::format("{} {}", counted(static_cast<std::size_t>(count), "pair"), key));
  return fmt::format("GPU to GPU: {}", fmt::join(words, "; "));
}

std::string nodes_of_memory(const std::vector<int>& nodes) {
  if (nodes.empty()) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes.size() && i < kMostNames; ++i)
    names.push_back(to_string(DeviceId{DeviceKind::numa, nodes[i]}));
  return fmt::format("not drawn: {} of memory only ({}{})", counted(nodes.size(), "NUMA node"),
                     fmt::join(names, ", "), nodes.size() > kMostNames ? ", .." : "");
}

double lay_out_title(Canvas& canvas, const PathTable& paths, const Forest& forest, double width) {
  const Machine& machine = canvas.machine();
  const double room = width - 2 * kMargin;
  double y = kMargin;
  canvas.word({kMargin, y}, room, 18,
              {.text = machine.name.empty() ? "this host" : plain(machine.name),
               .ink = Ink::normal,
               .bold = true});
  y += line_height(18) + 2;
  for (const std::string& text :
       {label_of(machine.cpu), summary(machine), pairs_between_gpus(machine, paths),
        nodes_of_memory(forest.nodes_of_memory)}) {
    if (text.empty()) continue;
    canvas.word({kMargin, y}, room, kNormal, {.text = text, .ink = Ink::faint, .bold = false});
    y += line_height(kNormal) + 1;
  }
  return y + 8;
}

constexpr double kInterconnect = 32;  // the room above the NUMA nodes for what joins them

bool joins_nodes(const Link& link) {
  return link.kind == LinkKind::numa;
}

// Whether the recording says that its NUMA nodes are joined, and two of them are drawn.
bool has_interconnect(const Machine& machine, const Forest& forest) {
  const auto nodes =
      std::ranges::count_if(forest.trees, [](const Branch& tree) { return tree.id.has_value(); });
  return nodes > 1 && std::ranges::any_of(machine.links, joins_nodes);
}

// The wire that joins the NUMA nodes, above them.
void lay_out_interconnect(Canvas& canvas, const Forest& forest, double y) {
  std::vector<double> ends;
  double top = y;
  for (const Branch& tree : forest.trees) {
    const Rect* place = tree.id ? canvas.place_of(*tree.id) : nullptr;
    if (place == nullptr) continue;
    ends.push_back(place->middle());
    top = place->y;
  }
  const double width = line_width(LinkKind::numa, 9);
  for (const double x : ends) canvas.wire({{x, y}, {x, top}}, LinkKind::numa, width);
  canvas.wire({{ends.front(), y}, {ends.back(), y}}, LinkKind::numa, width);
  const Machine& machine = canvas.machine();
  canvas.word(
      {ends.front() + 4, y - line_height(kSmall) - 2}, ends.back() - ends.front(), kSmall,
      {.text = speed_text(link_GBps(machine, *std::ranges::find_if(machine.links, joins_nodes))),
       .ink = Ink::faint,
       .bold = false});
}

// A matrix says what links do not: a recording of pairs, or one whose GPUs' links are only stated.
WithMatrix needs_matrix(const Machine& machine) {
  if (machine.gpus.size() + machine.nics.size() < 2 || machine.gpus.empty()) return WithMatrix::no;
  const auto has = [&machine](auto property) {
    return std::ranges::any_of(machine.links, property);
  };
  const bool tree = has([](const Link& link) { return link.kind == LinkKind::pcie; });
  const bool gpus = has([](const Link& link) {
    const bool to_node = link.from.kind == DeviceKind::numa || link.to.kind == DeviceKind::numa;
    return link.kind != LinkKind::pcie && !to_node;
  });
  return !tree || (!gpus && !machine.stated.empty()) ? WithMatrix::yes : WithMatrix::no;
}

}  // namespace

Picture lay_out(const Machine& machine, const PathTable& paths) {
  const Forest forest = forest_of(machine);
  const WithMatrix matrix = needs_matrix(machine);
  double width = std::max(kNarrowest, tree_room(forest).width);
  if (matrix == WithMatrix::yes) {
    const auto devices = static_cast<double>(
        std::min<std::size_t>(machine.gpus.size() + machine.nics.size(), kMostInMatrix));
    width = std::max(width, 2 * kMargin + 62 + devices * 46);
  }
  Canvas canvas(machine);
  const double title = lay_out_title(canvas, paths, forest, width);
  const bool joined = has_interconnect(machine, forest);
  double y = lay_out_trees(canvas, forest, joined ? title + kInterconnect : title);
  if (joined) lay_out_interconnect(canvas, forest, title + 20);
  y = lay_out_fabric(canvas, y) + 16;
  if (matrix == WithMatrix::yes) y = lay_out_matrix(canvas, paths, {width, y}) + 14;
  y = lay_out_legend(canvas, paths, matrix, {width, y}) + 12;
  y = lay_out_findings(canvas, {width, y});
  return std::move(canvas).finish(width, y);
}

}  // namespace lockstep::topology
