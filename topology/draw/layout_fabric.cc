#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "topology/device_tree.h"
#include "topology/draw/labels.h"
#include "topology/draw/layout.h"
#include "topology/draw/lettering.h"
#include "topology/draw/palette.h"
#include "topology/draw/speeds.h"

namespace lockstep::topology {
namespace {

constexpr double kLane = 17;
constexpr double kPortGap = 9;
constexpr double kDrop = 40;  // from the GPUs to the bar, beside which the words go
constexpr double kSwitchWidth = 62;
constexpr double kSwitchHeight = 24;
constexpr std::size_t kMostPairs = 256;

struct Bundle {
  int count = 0;
  std::optional<double> GBps;
};

void add(Bundle& bundle, const Machine& machine, const Link& link) {
  bundle.count += link.count;
  if (const auto more = link_GBps(machine, link)) bundle.GBps = bundle.GBps.value_or(0) + *more;
}

std::string_view short_name(LinkKind kind) {
  if (kind == LinkKind::xgmi) return "xGMI ";
  return kind == LinkKind::c2c ? "C2C " : "NV";
}

// Links between two GPUs, as brackets below them.
struct Pair {
  DeviceId left, right;
  LinkKind kind = LinkKind::nvlink;
  Bundle bundle;
  double from = 0, to = 0;  // where it starts and ends
  int lane = 0;
};

class Lanes {
 public:
  explicit Lanes(Canvas& canvas) : canvas_(canvas) {
    std::map<std::tuple<double, double, LinkKind>, Pair> pairs;
    for (const Link& link : canvas.machine().links) {
      const bool direct = link.kind != LinkKind::pcie && link.from.kind == DeviceKind::gpu &&
                          link.to.kind == DeviceKind::gpu && link.from != link.to;
      const Rect* from = canvas.place_of(link.from);
      const Rect* to = canvas.place_of(link.to);
      if (!direct || from == nullptr || to == nullptr) continue;
      const bool swap = to->x < from->x;
      Pair& pair = pairs[{std::min(from->x, to->x), std::max(from->x, to->x), link.kind}];
      pair.left = swap ? link.to : link.from;
      pair.right = swap ? link.from : link.to;
      pair.kind = link.kind;
      add(pair.bundle, canvas.machine(), link);
    }
    for (auto& [key, pair] : pairs) {
      if (pairs_.size() < kMostPairs) pairs_.push_back(pair);
    }
    left_out_ = pairs.size() - pairs_.size();
  }

  double draw(double top) {
    if (pairs_.empty()) return top;
    place_ports();
    const int lanes = place_lanes();
    for (const Pair& pair : pairs_) {
      const double y = top + kLane * (pair.lane + 1) + 4;
      const bool alarm = canvas_.alarmed(pair.left) && canvas_.alarmed(pair.right);
      canvas_.wire({{pair.from, canvas_.place_of(pair.left)->bottom()},
                    {pair.from, y},
                    {pair.to, y},
                    {pair.to, canvas_.place_of(pair.right)->bottom()}},
                   pair.kind, line_width(pair.kind, pair.bundle.count),
                   alarm ? Ink::alarm : Ink::normal);
      words(pair, y);
    }
    double bottom = top + kLane * (lanes + 1);
    if (left_out_ > 0) {
      canvas_.word({kMargin, bottom}, 600, kSmall,
                   {.text = fmt::format("and {} more pairs with direct links", left_out_),
                    .ink = Ink::faint,
                    .bold = false});
      bottom += kLane;
    }
    return bottom;
  }

 private:
  static double span(const Pair& pair) { return pair.to - pair.from; }

  // At each GPU links to the left come first, near ones leftmost, then links to the right, far ones
  // leftmost: so that no link's ends cross a lane of the same GPU.
  void place_ports() {
    for (Pair& pair : pairs_) {
      pair.from = canvas_.place_of(pair.left)->x;
      pair.to = canvas_.place_of(pair.right)->x;
    }
    std::ranges::stable_sort(pairs_, {}, span);
    std::map<DeviceId, int> used;
    std::map<DeviceId, int> degree;
    for (const Pair& pair : pairs_) {
      ++degree[pair.left];
      ++degree[pair.right];
    }
    const auto next = [&](DeviceId gpu) {
      const Rect& rect = *canvas_.place_of(gpu);
      const double gap = std::min(kPortGap, (rect.w - 8) / std::max(degree[gpu], 1));
      return rect.x + 6 + gap * used[gpu]++;
    };
    for (Pair& pair : pairs_) pair.to = next(pair.right);
    for (auto pair = pairs_.rbegin(); pair != pairs_.rend(); ++pair) pair->from = next(pair->left);
  }

  int place_lanes() {
    std::vector<std::vector<const Pair*>> lanes;
    for (Pair& pair : pairs_) {
      const auto collides = [&pair](const Pair* other) {
        return pair.from <= other->to + 4 && other->from <= pair.to + 4;
      };
      std::size_t lane = 0;
      while (lane < lanes.size() && std::ranges::any_of(lanes[lane], collides)) ++lane;
      if (lane == lanes.size()) lanes.emplace_back();
      lanes[lane].push_back(&pair);
      pair.lane = static_cast<int>(lane);
    }
    return static_cast<int>(lanes.size());
  }

  // On the lane, right of where it starts. The speed is left out where it would reach other ends.
  void words(const Pair& pair, double y) {
    const Rect& rect = *canvas_.place_of(pair.left);
    std::string text = fmt::format("{}{}", short_name(pair.kind), pair.bundle.count);
    const std::string speed = speed_text(pair.bundle.GBps);
    const double room = std::max(rect.right() - pair.from + 6, 40.0);
    if (!speed.empty() && width_of(text + ", " + speed, 9) <= room) text += ", " + speed;
    canvas_.word({pair.from + 4, y - line_height(9) - 1}, room, 9,
                 {.text = text, .ink = Ink::faint, .bold = false});
  }

  Canvas& canvas_;
  std::vector<Pair> pairs_;
  std::size_t left_out_ = 0;
};

// A GPU's links to its processor (Grace, POWER9), beside its PCIe link.
void lay_out_processor_links(Canvas& canvas) {
  const Machine& machine = canvas.machine();
  for (const Link& link : machine.links) {
    const bool up = link.from.kind == DeviceKind::gpu && link.to.kind == DeviceKind::numa;
    const bool down = link.to.kind == DeviceKind::gpu && link.from.kind == DeviceKind::numa;
    if (link.kind == LinkKind::pcie || (!up && !down)) continue;
    const Rect* gpu = canvas.place_of(up ? link.from : link.to);
    const Rect* node = canvas.place_of(up ? link.to : link.from);
    if (gpu == nullptr || node == nullptr || gpu->x < node->x || gpu->right() > node->right())
      continue;
    const double x = gpu->right() + 2;
    canvas.wire({{x, node->bottom()}, {x, gpu->y + 12}, {gpu->right(), gpu->y + 12}}, link.kind,
                line_width(link.kind, link.count));
    const std::string what = link.kind == LinkKind::c2c
                                 ? std::string("C2C")
                                 : fmt::format("{}{}", short_name(link.kind), link.count);
    const std::string text = fmt::format("{} {}", what, speed_text(link_GBps(machine, link)));
    canvas.word({gpu->x + 5, gpu->y - line_height(9)}, gpu->w - 8, 9,
                {.text = text, .ink = Ink::faint, .bold = false});
  }
}

class Bar {
 public:
  explicit Bar(Canvas& canvas) : canvas_(canvas) {
    for (const Link& link : canvas.machine().links) {
      if (link.kind == LinkKind::pcie || link.kind == LinkKind::numa) continue;
      const bool up = link.to.kind == DeviceKind::nvswitch;
      const DeviceId end = up ? link.from : link.to;
      const DeviceId device = up ? link.to : link.from;
      if (device.kind != DeviceKind::nvswitch || end.kind != DeviceKind::gpu ||
          canvas.place_of(end) == nullptr || !has_device(canvas.machine(), device))
        continue;
      add(ends_[end], canvas.machine(), link);
      kind_ = link.kind;
    }
  }

  double draw(double top) {
    const auto switches = static_cast<int>(canvas_.machine().nvswitches.size());
    if (switches == 0) return top;
    const double left = kMargin;
    double right = left + 400;
    for (const Rect& place : above()) right = std::max(right, place.right());
    const double y = ends_.empty() ? top + 12 : top + kDrop;
    const int in_row = std::max(1, static_cast<int>((right - left - 16) / (kSwitchWidth + 8)));
    const int rows = (switches + in_row - 1) / in_row;
    const double height = 26 + rows * (kSwitchHeight + 8);
    canvas_.box({left, y, right - left, height}, BoxKind::bar);
    int links = 0;
    for (const auto& [gpu, bundle] : ends_) {
      links += bundle.count;
      drop(gpu, bundle, y);
    }
    canvas_.word({left + 8, y + 6}, right - left - 16, kNormal,
                 {.text = fmt::format("NVSwitch fabric: {}, {} of {}",
                                      counted(static_cast<std::size_t>(switches), "switch", "es"),
                                      counted(static_cast<std::size_t>(links), "link"),
                                      counted(ends_.size(), "GPU")),
                  .ink = Ink::normal,
                  .bold = true});
    for (int i = 0; i < switches; ++i) {
      const Rect rect{left + 8 + (i % in_row) * (kSwitchWidth + 8),
                      y + 26 + (i / in_row) * (kSwitchHeight + 8), kSwitchWidth, kSwitchHeight};
      const std::vector<Line> lines{
          {.text = fmt::format("NVS{}", i), .ink = Ink::normal, .bold = false}};
      canvas_.device({DeviceKind::nvswitch, i}, BoxKind::nvswitch, rect, lines);
    }
    return y + height;
  }

 private:
  // What the bar is as wide as.
  std::vector<Rect> above() const {
    std::vector<Rect> places;
    for (const NumaNode& node : canvas_.machine().numa) {
      if (const Rect* place = canvas_.place_of({DeviceKind::numa, node.id}))
        places.push_back(*place);
    }
    for (int i = 0; i < static_cast<int>(canvas_.machine().gpus.size()); ++i) {
      if (const Rect* place = canvas_.place_of({DeviceKind::gpu, i})) places.push_back(*place);
    }
    return places;
  }

  void drop(DeviceId gpu, const Bundle& bundle, double y) {
    const Rect& place = *canvas_.place_of(gpu);
    const double x = place.x + 8;
    canvas_.wire({{x, place.bottom()}, {x, y}}, kind_, line_width(kind_, bundle.count),
                 canvas_.alarmed(gpu) ? Ink::alarm : Ink::normal);
    double word_y = y - kDrop + 8;
    for (const std::string& text :
         {fmt::format("{}{}", short_name(kind_), bundle.count), speed_text(bundle.GBps)}) {
      canvas_.word({x + 6, word_y}, place.w - 12, kSmall,
                   {.text = text, .ink = Ink::normal, .bold = false});
      word_y += line_height(kSmall);
    }
  }

  Canvas& canvas_;
  std::map<DeviceId, Bundle> ends_;
  LinkKind kind_ = LinkKind::nvlink;
};

}  // namespace

double lay_out_fabric(Canvas& canvas, double top) {
  lay_out_processor_links(canvas);
  const double below_lanes = Lanes(canvas).draw(top);
  return Bar(canvas).draw(below_lanes);
}

}  // namespace lockstep::topology
