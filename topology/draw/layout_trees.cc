#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "topology/draw/device_lines.h"
#include "topology/draw/layout.h"
#include "topology/draw/palette.h"
#include "topology/draw/speeds.h"

namespace lockstep::topology {
namespace {

constexpr double kWide = 1600;  // a picture is no wider, as long as columns are not too narrow
constexpr double kNarrowestColumn = 84;
constexpr double kWidestColumn = 190;
constexpr double kPanelPad = 6;
constexpr double kPanelGap = 14;
constexpr double kSwitchHeight = 24;
constexpr double kLevelGap = 34;  // where the words beside the link up go
constexpr double kRowGap = 12;
constexpr double kSpine = 5;    // of a column, from its left edge
constexpr double kIndent = 11;  // of a device in its column
constexpr double kGutter = 4;   // right of a device
constexpr int kNicsInStack = 4;
constexpr int kLooseInStack = 2;  // where no place is known, width costs less than height

int own_columns(const Branch& branch) {
  const int nics = static_cast<int>(branch.nics.size());
  const int stack = branch.id ? kNicsInStack : kLooseInStack;
  return std::max(static_cast<int>(branch.gpus.size()), (nics + stack - 1) / stack);
}

int columns_of(const Branch& branch) {
  int columns = own_columns(branch);
  for (const Branch& child : branch.switches) columns += columns_of(child);
  return std::max(columns, 1);
}

int levels_of(const Branch& branch) {
  int levels = 0;
  for (const Branch& child : branch.switches) levels = std::max(levels, 1 + levels_of(child));
  return levels;
}

int stack_of(const Branch& branch) {
  const int columns = std::max(own_columns(branch), 1);
  int stack = (static_cast<int>(branch.nics.size()) + columns - 1) / columns;
  for (const Branch& child : branch.switches) stack = std::max(stack, stack_of(child));
  return stack;
}

double wire_width(const PciDevice& device) {
  return line_width(LinkKind::pcie, device.link.width.value_or(device.link.max_width.value_or(1)));
}

class Orchard {
 public:
  Orchard(Canvas& canvas, const Forest& forest, double top)
      : canvas_(canvas), forest_(forest), column_(tree_room(forest).column), top_(top) {
    const Machine& machine = canvas.machine();
    const double room = column_ - kIndent - kGutter;
    int levels = 0;
    for (const Branch& tree : forest.trees) {
      levels = std::max(levels, levels_of(tree));
      stack_ = std::max(stack_, stack_of(tree));
      if (tree.id) head_lines_ = std::max(head_lines_, head(tree).size());
    }
    std::size_t nic_lines = 1;
    std::size_t gpu_lines = 1;
    for (std::size_t i = 0; i < machine.nics.size(); ++i)
      nic_lines = std::max(
          nic_lines, lines_of_nic(machine.nics[i], static_cast<int>(i), room - 2 * kBoxPad).size());
    for (std::size_t i = 0; i < machine.gpus.size(); ++i)
      gpu_lines = std::max(
          gpu_lines, lines_of_gpu(machine.gpus[i], static_cast<int>(i), room - 2 * kBoxPad).size());
    nic_height_ = box_height(nic_lines);
    gpu_height_ = box_height(gpu_lines);
    head_height_ = box_height(head_lines_);
    switches_top_ = top + kPanelPad + head_height_;
    nics_top_ = switches_top_ + levels * (kLevelGap + kSwitchHeight) + kRowGap;
    gpus_top_ = nics_top_ + stack_ * (nic_height_ + kRowGap);
    bottom_ = machine.gpus.empty() ? gpus_top_ : gpus_top_ + gpu_height_ + kRowGap;
  }

  double draw() {
    double x = kMargin;
    for (const Branch& tree : forest_.trees) {
      const double width = columns_of(tree) * column_ + 2 * kPanelPad;
      canvas_.box({x, top_, width, bottom_ - top_}, BoxKind::panel);
      const Rect rect{x + kPanelPad, top_ + kPanelPad, width - 2 * kPanelPad, head_height_};
      if (tree.id) {
        canvas_.device(*tree.id, BoxKind::numa, rect, head(tree));
      } else {
        canvas_.word({rect.x + 5, rect.y + 5}, rect.w - 10, kNormal,
                     {.text = "place not known", .ink = Ink::faint, .bold = true});
      }
      below(tree, rect, 0);
      x += width + kPanelGap;
    }
    return bottom_;
  }

 private:
  std::vector<Line> head(const Branch& tree) const {
    return lines_of_numa(canvas_.machine(), tree.id->index, columns_of(tree) * column_ - 20);
  }

  void below(const Branch& branch, Rect parent, int level) {
    double x = parent.x;
    for (const Branch& child : branch.switches) {
      const double width = columns_of(child) * column_;
      a_switch(child, {x, parent.bottom()}, width, level);
      x += width;
    }
    const int columns = own_columns(branch);
    for (std::size_t i = 0; i < branch.nics.size(); ++i) {
      const int column = static_cast<int>(i) % columns;
      const int row = static_cast<int>(i) / columns;
      leaf(branch.nics[i], branch,
           {x + column * column_ + kIndent, nics_top_ + row * (nic_height_ + kRowGap),
            column_ - kIndent - kGutter, nic_height_},
           parent.bottom());
    }
    for (std::size_t i = 0; i < branch.gpus.size(); ++i) {
      leaf(branch.gpus[i], branch,
           {x + static_cast<double>(i) * column_ + kIndent, gpus_top_, column_ - kIndent - kGutter,
            gpu_height_},
           parent.bottom());
    }
  }

  void a_switch(const Branch& branch, Point from, double width, int level) {
    const double y = switches_top_ + level * (kLevelGap + kSwitchHeight) + kLevelGap;
    const Rect rect{from.x + 1, y, width - 4, kSwitchHeight};
    const PciDevice& pci = pci_of(canvas_.machine(), *branch.id);
    if (branch.linked) {
      const double x = from.x + kSpine;
      canvas_.wire({{x, from.y}, {x, y}}, LinkKind::pcie, wire_width(pci));
      double word_y = from.y + 5;
      for (const Line& line : lines_of_link(pci, rect.w - 14)) {
        canvas_.word({x + 5, word_y}, rect.w - 14, kSmall, line);
        word_y += line_height(kSmall);
      }
    }
    const std::vector<Line> lines{line_of_switch(canvas_.machine(), branch.id->index)};
    canvas_.device(*branch.id, BoxKind::pcie_switch, rect, lines);
    // Columns go on from the switch's own left edge.
    below(branch, {from.x, rect.y, width, rect.h}, level + 1);
  }

  void leaf(DeviceId id, const Branch& above, Rect rect, double from) {
    const Machine& machine = canvas_.machine();
    const auto at = static_cast<std::size_t>(id.index);
    const bool gpu = id.kind == DeviceKind::gpu;
    const double room = rect.w - 2 * kBoxPad;
    canvas_.device(id, gpu ? BoxKind::gpu : BoxKind::nic, rect,
                   gpu ? lines_of_gpu(machine.gpus[at], id.index, room)
                       : lines_of_nic(machine.nics[at], id.index, room));
    if (!above.id || !hangs(machine, id)) return;
    const double x = rect.x - kIndent + kSpine;
    const double y = rect.y + rect.h / 2;
    canvas_.wire({{x, from}, {x, y}, {rect.x, y}}, LinkKind::pcie, wire_width(pci_of(machine, id)));
  }

  bool hangs(const Machine& machine, DeviceId id) {
    if (hanging_.empty()) {
      for (const Link& link : machine.links) {
        if (link.kind == LinkKind::pcie) hanging_.insert(link.from);
      }
    }
    return hanging_.contains(id);
  }

  Canvas& canvas_;
  const Forest& forest_;
  double column_, top_;
  std::size_t head_lines_ = 1;
  int stack_ = 0;
  double nic_height_ = 0, gpu_height_ = 0, head_height_ = 0;
  double switches_top_ = 0, nics_top_ = 0, gpus_top_ = 0, bottom_ = 0;
  std::set<DeviceId> hanging_;
};

}  // namespace

TreeRoom tree_room(const Forest& forest) {
  int columns = 0;
  for (const Branch& tree : forest.trees) columns += columns_of(tree);
  const auto trees = static_cast<double>(forest.trees.size());
  const double around = 2 * kMargin + trees * 2 * kPanelPad + std::max(trees - 1, 0.0) * kPanelGap;
  const double column = std::clamp(std::floor((kWide - around) / std::max(columns, 1)),
                                   kNarrowestColumn, kWidestColumn);
  return {.column = column, .width = around + columns * column};
}

double lay_out_trees(Canvas& canvas, const Forest& forest, double top) {
  return Orchard(canvas, forest, top).draw();
}

}  // namespace lockstep::topology
