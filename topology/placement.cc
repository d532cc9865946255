#include "topology/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>
#include <stdexcept>
#include <utility>

namespace lockstep::topology {
namespace {

constexpr int kExactGpus = 16;
constexpr int kMostRounds = 64;  // of exchanges

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// A pair is worth its kind, in steps that no bandwidth reaches (links carry less than 10 TB/s), and
// its bandwidth. NVLinks of unknown speed are told apart by how many there are.
double worth_of(const Path& path) {
  constexpr double kStep = 1e4;
  const int better_than = path.kind == PathKind::unknown
                              ? 0
                              : static_cast<int>(PathKind::unknown) - static_cast<int>(path.kind);
  double speed = path.GBps.value_or(0);
  if (!path.GBps && path.label.starts_with("NV")) {
    for (const char digit : path.label.substr(2)) {
      if (digit >= '0' && digit <= '9') speed = std::min(10 * speed + (digit - '0'), kStep / 2);
    }
  }
  return better_than * kStep + std::clamp(speed, 0.0, kStep - 1);
}

class Worths {
 public:
  Worths(const PathTable& paths, int gpus) : gpus_(gpus), worths_(at(gpus) * at(gpus)) {
    for (int a = 0; a < gpus; ++a) {
      for (int b = 0; b < gpus; ++b) {
        if (a != b)
          worths_[at(a) * at(gpus) + at(b)] =
              worth_of(paths.between({DeviceKind::gpu, a}, {DeviceKind::gpu, b}));
      }
    }
  }

  [[nodiscard]] double of(int a, int b) const { return worths_[at(a) * at(gpus_) + at(b)]; }
  [[nodiscard]] int gpus() const { return gpus_; }

 private:
  int gpus_;
  std::vector<double> worths_;
};

struct Score {
  double worst = std::numeric_limits<double>::infinity();
  double sum = 0;

  void add(double worth) {
    worst = std::min(worst, worth);
    sum += worth;
  }
  auto operator<=>(const Score&) const = default;
};

Score score_of(const Worths& worths, const std::vector<int>& set) {
  Score score;
  for (std::size_t i = 0; i < set.size(); ++i) {
    for (std::size_t j = i + 1; j < set.size(); ++j) score.add(worths.of(set[i], set[j]));
  }
  return score;
}

// Goes to the next ascending set of as many of `gpus`, in the order of their ids.
bool advance(std::vector<int>& set, int gpus) {
  const auto count = static_cast<int>(set.size());
  for (int i = count - 1; i >= 0; --i) {
    if (set[at(i)] == gpus - count + i) continue;
    ++set[at(i)];
    for (int j = i + 1; j < count; ++j) set[at(j)] = set[at(j - 1)] + 1;
    return true;
  }
  return false;
}

std::vector<int> best_of_all(const Worths& worths, int count) {
  std::vector<int> set;
  for (int i = 0; i < count; ++i) set.push_back(i);
  std::vector<int> best = set;
  Score best_score = score_of(worths, set);
  while (advance(set, worths.gpus())) {
    const Score score = score_of(worths, set);
    if (score > best_score) {
      best = set;
      best_score = score;
    }
  }
  return best;
}

// What a set's score becomes with one more.
Score with(const Worths& worths, const std::vector<int>& set, int gpu, Score score) {
  for (const int other : set) score.add(worths.of(other, gpu));
  return score;
}

bool holds(const std::vector<int>& set, int gpu) {
  return std::ranges::find(set, gpu) != set.end();
}

// The best GPU to add, the lowest of equals.
int best_addition(const Worths& worths, const std::vector<int>& set, Score score) {
  int best = -1;
  Score best_score;
  for (int gpu = 0; gpu < worths.gpus(); ++gpu) {
    if (holds(set, gpu)) continue;
    const Score found = with(worths, set, gpu, score);
    if (best < 0 || found > best_score) {
      best = gpu;
      best_score = found;
    }
  }
  return best;
}

std::vector<int> grown(const Worths& worths, int first, int count) {
  std::vector<int> set{first};
  Score score;
  while (static_cast<int>(set.size()) < count) {
    const int gpu = best_addition(worths, set, score);
    score = with(worths, set, gpu, score);
    set.push_back(gpu);
  }
  return set;
}

// Takes one out and puts the best one in, as long as that is better.
void improve(const Worths& worths, std::vector<int>& set) {
  Score score = score_of(worths, set);
  for (int round = 0; round < kMostRounds; ++round) {
    bool better = false;
    for (std::size_t i = 0; i < set.size(); ++i) {
      std::vector<int> rest = set;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      const Score without = score_of(worths, rest);
      const int gpu = best_addition(worths, rest, without);
      const Score found = with(worths, rest, gpu, without);
      if (found <= score) continue;
      set[i] = gpu;
      score = found;
      better = true;
    }
    if (!better) return;
  }
}

std::vector<int> good_of_many(const Worths& worths, int count) {
  std::vector<int> best;
  Score best_score;
  for (int first = 0; first < worths.gpus(); ++first) {
    std::vector<int> set = grown(worths, first, count);
    const Score score = score_of(worths, set);
    if (!best.empty() && score <= best_score) continue;
    best = std::move(set);
    best_score = score;
  }
  improve(worths, best);
  std::ranges::sort(best);
  return best;
}

std::vector<DeviceId> in_good_order(const Worths& worths, std::vector<int> set) {
  std::vector<DeviceId> order{{DeviceKind::gpu, set.front()}};
  set.erase(set.begin());
  while (!set.empty()) {
    const int last = order.back().index;
    const auto next = std::ranges::max_element(
        set, [&](int a, int b) { return worths.of(last, a) < worths.of(last, b); });
    order.push_back({DeviceKind::gpu, *next});
    set.erase(next);
  }
  return order;
}

}  // namespace

std::vector<DeviceId> best_gpus(const PathTable& paths, int gpus, int count) {
  if (count < 1 || count > gpus)
    throw std::invalid_argument(
        gpus == 0 ? fmt::format("expected GPUs to choose {} from, but this machine has none", count)
                  : fmt::format("expected to choose 1 to {} GPUs, as many as this machine has, "
                                "found {}",
                                gpus, count));
  const Worths worths(paths, gpus);
  return in_good_order(
      worths, gpus <= kExactGpus ? best_of_all(worths, count) : good_of_many(worths, count));
}

std::string placement_caveat(const Machine& machine) {
  const bool is_hidden =
      std::ranges::count(machine.findings, "nvlink-not-shown", &Finding::code) > 0;
  const bool is_known =
      std::ranges::any_of(machine.stated,
                          [](const StatedPath& path) { return path.label.starts_with("NV"); }) ||
      std::ranges::any_of(machine.links,
                          [](const Link& link) { return link.kind == LinkKind::nvlink; });
  if (!is_hidden || is_known) return {};
  return "by PCIe alone, since this recording does not show NVLink, which would decide: add "
         "`nvidia-smi topo -m`";
}

}  // namespace lockstep::topology
